/**
 * C++ tests of the kernels, of the choice of threads, of where weights lie and of the checkpoint readers, then fuzzing of
 * these for a bounded time, all under sanitizers where the compiler has them. MIZUOTO_FUZZ_SECONDS sets the time
 * (default 10), MIZUOTO_FUZZ_SEED the inputs (default 1).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { BuildError, cacheDir, main, root, run, say } from './lib/run.mjs';
import { ensureNative, ggmlIncludeDir, ggmlLibDir, nodeAddonApiDir, nodeApiHeadersDir } from './native.mjs';

const buildDir = join(cacheDir, 'native-tests');
const windows = process.platform === 'win32';

/** -fsanitize=... where a program built with it compiles and runs here, else nothing. */
function sanitizerFlags() {
  const flags = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer'];
  if (windows) return '';
  const compiler = process.env.CXX ?? 'c++';
  const source = join(buildDir, 'probe.cc');
  writeFileSync(
    source,
    'int main(int argc, char**) { int* p = new int[2]; p[1] = argc; int r = p[1]; delete[] p; return r - 1; }\n',
  );
  const program = join(buildDir, 'probe');
  const built = spawnSync(compiler, [...flags, source, '-o', program], { encoding: 'utf8' });
  const works = built.status === 0 && spawnSync(program, [], { env: environment() }).status === 0;
  rmSync(program, { force: true });
  return works ? flags.join(' ') : '';
}

function environment() {
  const env = { ...process.env };
  env.ASAN_OPTIONS ??= 'abort_on_error=0:allocator_may_return_null=1:detect_stack_use_after_return=1';
  env.UBSAN_OPTIONS ??= 'print_stacktrace=1';
  if (windows) env.PATH = `${ggmlLibDir}${delimiter}${env.PATH ?? ''}`;
  return env;
}

function configure() {
  mkdirSync(buildDir, { recursive: true });
  const sanitizers = sanitizerFlags();
  if (!sanitizers) say('this compiler has no working sanitizers: tests and fuzzing run without them');
  const args = [
    `-DCMAKE_BUILD_TYPE=RelWithDebInfo`,
    `-DCMAKE_CXX_FLAGS=${sanitizers}`,
    `-DGGML_INCLUDE_DIR=${ggmlIncludeDir}`,
    `-DGGML_LIB_DIR=${ggmlLibDir}`,
    `-DNODE_ADDON_API_DIR=${nodeAddonApiDir}`,
    `-DNODE_API_HEADERS_DIR=${nodeApiHeadersDir}`,
    `-DMIZUOTO_OUT_DIR=${buildDir}`,
    '-DMIZUOTO_TESTS=ON',
  ];
  run('cmake', [...args, '-S', join(root, 'native'), '-B', buildDir], {
    hint: 'Install a C++20 compiler and cmake (Debian: apt-get install g++ cmake).',
  });
  const jobs = String(Math.min(availableParallelism(), 2));
  const targets = [
    '--target',
    'checkpoint_test',
    'kernels_test',
    'threads_test',
    'weights_test',
    'checkpoint_fuzz',
  ];
  run('cmake', ['--build', buildDir, '--config', 'RelWithDebInfo', '--parallel', jobs, ...targets]);
}

function program(name) {
  const file = windows ? `${name}.exe` : name;
  const places = [join(buildDir, file), join(buildDir, 'RelWithDebInfo', file)];
  const found = places.find((path) => existsSync(path));
  if (!found) throw new BuildError(`${name} was built but is not in ${buildDir}.`);
  return found;
}

/** Runs to the end with its output shown; true where it exits with 0. */
function passes(name, args, seconds) {
  const result = spawnSync(program(name), args, {
    cwd: tmpdir(),
    env: environment(),
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: seconds * 1000,
  });
  if (result.status === 0) return true;
  const how =
    result.error?.code === 'ETIMEDOUT'
      ? `did not end within ${seconds} s`
      : `failed (${result.signal ?? `exit ${result.status}`})`;
  say(`${name} ${how}`);
  return false;
}

/** A positive whole number from the environment, or `otherwise`. */
function numberFrom(name, otherwise) {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  if (!/^\d{1,9}$/.test(text)) throw new BuildError(`${name} is "${text}"; give a whole number.`);
  return Number(text);
}

main(async () => {
  const seconds = numberFrom('MIZUOTO_FUZZ_SECONDS', 10);
  const seed = numberFrom('MIZUOTO_FUZZ_SEED', 1);
  // Set-up has brought the headers; alone on a fresh clone, this does.
  if (!existsSync(join(ggmlIncludeDir, 'ggml.h'))) await ensureNative();
  configure();
  const results = [
    passes('checkpoint_test', [], 300),
    passes('kernels_test', [], 120),
    passes('threads_test', [], 60),
    passes('weights_test', [], 120),
    passes('checkpoint_fuzz', ['--seconds', String(seconds), '--seed', String(seed)], seconds + 120),
  ];
  const failed = results.filter((ok) => !ok).length;
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
});

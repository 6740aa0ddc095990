import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { worded } from './chinese.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const cacheDir = join(root, '.cache');

/** A failure that says what to do; printed without a stack. */
export class BuildError extends Error {}

/** Progress goes to stderr: stdout belongs to the command that the person asked for. */
export function say(message) {
  process.stderr.write(`[mizuoto] ${worded(message)}\n`);
}

/** Run a command to its end; its output is shown only when it fails (or when `verbose`). */
export function run(command, args, options = {}) {
  const { verbose = false, hint, ...rest } = options;
  const result = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: verbose ? ['ignore', 2, 2] : ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
    ...rest,
  });
  if (result.error?.code === 'ENOENT') {
    throw new BuildError(`${command} is not installed. ${hint ?? `Install ${command} and try again.`}`);
  }
  if (result.status !== 0) {
    if (!verbose) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
    throw new BuildError(
      `${command} ${args.slice(0, 4).join(' ')} failed (exit ${result.status ?? result.signal}).`,
    );
  }
  return result.stdout ?? '';
}

/** npm as the person runs it: through npm_execpath where npm started us, else from PATH. */
export function npm(args, options = {}) {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) return run(process.execPath, [cli, ...args], options);
  return run('npm', args, { shell: process.platform === 'win32', ...options });
}

/** Run in the foreground with the person's own stdin, stdout and stderr; resolves with the exit code. */
export function foreground(command, args, env = process.env) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { stdio: 'inherit', cwd: process.cwd(), env });
    // The terminal delivers Ctrl-C to the child too: let it finish tidily and report its code.
    const ignore = () => {};
    process.on('SIGINT', ignore);
    const forward = () => child.kill('SIGTERM');
    process.on('SIGTERM', forward);
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      process.off('SIGINT', ignore);
      process.off('SIGTERM', forward);
      done(code ?? (signal === 'SIGINT' ? 130 : 1));
    });
  });
}

function* walk(path) {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const full = join(path, entry.name);
    if (entry.isDirectory()) {
      if (!['node_modules', 'out', 'build', 'artifacts', 'golden', '__pycache__'].includes(entry.name))
        yield* walk(full);
    } else if (entry.isFile()) yield full;
  }
}

/** Hash of files and folders, by relative name and content. `build` itself is listed by its files. */
export function fingerprint(paths, extra = []) {
  const hash = createHash('sha256');
  for (const item of extra) hash.update(`${item}\0`);
  for (const path of paths) {
    const full = join(root, path);
    if (!existsSync(full)) continue;
    const files = statSync(full).isDirectory() ? [...walk(full)] : [full];
    for (const file of files) {
      hash.update(`${relative(root, file)}\0`);
      hash.update(readFileSync(file));
      hash.update('\0');
    }
  }
  return hash.digest('hex');
}

/** One holder at a time, across processes; a lock whose holder died is taken over. */
async function locked(name, body) {
  const lock = join(cacheDir, 'locks', name);
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (!holderLives(lock)) rmSync(lock, { force: true });
      else await new Promise((done) => setTimeout(done, 200));
    }
  }
  try {
    return await body();
  } finally {
    rmSync(lock, { force: true });
  }
}

function holderLives(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Do `work` only when `key` differs from what stood when it last succeeded; true when it was done. */
export async function once(name, key, outputs, work) {
  const stamp = join(cacheDir, 'stamps', name);
  const fresh = () =>
    existsSync(stamp) && readFileSync(stamp, 'utf8') === key && outputs.every((path) => existsSync(path));
  if (fresh()) return false;
  return locked(name, async () => {
    if (fresh()) return false;
    await work();
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(`${stamp}.${process.pid}`, key);
    renameSync(`${stamp}.${process.pid}`, stamp);
    return true;
  });
}

/** Run a script's main function: errors meant for people are printed as one line. */
export async function main(body) {
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    if (error instanceof BuildError) say(error.message);
    else process.stderr.write(`${error?.stack ?? error}\n`);
    process.exitCode = 1;
  }
}

/** ggml's headers and libraries, and the addon built against them. Uses only Node's own modules. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { BuildError, cacheDir, fingerprint, npm, once, root, run, say } from './lib/run.mjs';

const pin = JSON.parse(readFileSync(join(root, 'build', 'ggml.json'), 'utf8'));

/** Platform package of ggml's shared libraries: Vulkan and CPU variants in one. */
const platformPackages = {
  'linux-x64': 'linux-x64-vulkan',
  'linux-arm64': 'linux-arm64',
  'win32-x64': 'win-x64-vulkan',
  'win32-arm64': 'win-arm64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
};
const platform = `${process.platform}-${process.arch}`;
const platformPackage = platformPackages[platform];

export const nativeOut = join(root, 'native', 'out');
export const ggmlIncludeDir = join(cacheDir, 'ggml', pin.version, 'include');
export const ggmlLibDir = platformPackage
  ? join(root, 'node_modules', '@node-llama-cpp', platformPackage, 'bins', platformPackage)
  : '';
export const nodeAddonApiDir = join(root, 'node_modules', 'node-addon-api');
export const nodeApiHeadersDir = join(root, 'node_modules', 'node-api-headers');

/** ggml's headers, from the source bundle of the same release as the libraries. */
async function ensureHeaders() {
  await once('ggml-headers', pin.integrity, [join(ggmlIncludeDir, 'ggml.h')], () => {
    say(`fetching ggml's headers (${pin.package} ${pin.version})...`);
    mkdirSync(cacheDir, { recursive: true });
    const work = mkdtempSync(join(cacheDir, 'headers-'));
    try {
      npm(['pack', `${pin.package}@${pin.version}`, '--silent', '--pack-destination', work], {
        hint: 'npm comes with Node.',
      });
      const archive = readdirSync(work).find((name) => name.endsWith('.tgz'));
      const found = `sha512-${createHash('sha512')
        .update(readFileSync(join(work, archive)))
        .digest('base64')}`;
      if (found !== pin.integrity) {
        throw new BuildError(
          `${archive} does not match its pinned hash: ${found}. Is the registry's copy altered?`,
        );
      }
      run('tar', ['-xzf', archive, pin.bundle], { cwd: work });
      run('git', ['clone', '--quiet', '--no-checkout', join(work, pin.bundle), join(work, 'source')]);
      run('git', ['-C', join(work, 'source'), 'checkout', '--quiet', 'HEAD', '--', 'ggml/include']);
      rmSync(ggmlIncludeDir, { recursive: true, force: true });
      mkdirSync(join(ggmlIncludeDir, '..'), { recursive: true });
      renameSync(join(work, 'source', 'ggml', 'include'), ggmlIncludeDir);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}

/** The addon finds ggml beside itself: the libraries stand in one real folder with it (links where possible). */
function placeLibraries() {
  mkdirSync(nativeOut, { recursive: true });
  for (const name of readdirSync(ggmlLibDir)) {
    if (!/ggml.*\.(so|dll|dylib|metal|metallib)$/.test(name)) continue;
    const [source, target] = [join(ggmlLibDir, name), join(nativeOut, name)];
    // Renaming one link of a file over another does nothing.
    if (existsSync(target) && statSync(source).ino === statSync(target).ino) continue;
    rmSync(`${target}.new`, { force: true });
    try {
      linkSync(source, `${target}.new`);
    } catch {
      copyFileSync(source, `${target}.new`);
    }
    renameSync(`${target}.new`, target);
  }
  const licence = join(ggmlLibDir, '..', '..', 'LICENSE');
  if (existsSync(licence)) cpSync(licence, join(nativeOut, 'LICENSE.ggml-binaries'));
}

export async function ensureNative() {
  if (!platformPackage) {
    throw new BuildError(
      `There is no ggml package for ${platform}. Supported: ${Object.keys(platformPackages).join(', ')}.`,
    );
  }
  if (!existsSync(ggmlLibDir)) {
    throw new BuildError(
      `The platform package @node-llama-cpp/${platformPackage} is missing. Run "npm ci" without --omit=optional.`,
    );
  }
  await ensureHeaders();
  const key = fingerprint(
    ['native/src', 'native/CMakeLists.txt', 'build/native.mjs'],
    [pin.integrity, platform],
  );
  await once('native', key, [join(nativeOut, 'mizuoto.node')], () => {
    say('building the native core (a few minutes)...');
    placeLibraries();
    const buildDir = join(root, 'native', 'build');
    run('cmake', [...cmakeArguments(), '-S', join(root, 'native'), '-B', buildDir], {
      hint: 'Install a C++20 compiler and cmake (Debian: apt-get install g++ cmake; macOS: xcode-select --install; Windows: Visual Studio Build Tools).',
    });
    const jobs = String(Math.min(availableParallelism(), 8));
    run('cmake', ['--build', buildDir, '--config', 'Release', '--parallel', jobs]);
    // In one step: a program that runs keeps the file that it loaded.
    const target = join(nativeOut, 'mizuoto.node');
    copyFileSync(join(linkedDir, 'mizuoto.node'), `${target}.new`);
    renameSync(`${target}.new`, target);
  });
}

/** Where the linker puts the addon. */
const linkedDir = join(root, 'native', 'build', 'out');

/** What every CMake configuration of ours needs to know. */
export function cmakeArguments() {
  const fresh = existsSync(join(root, 'native', 'build', 'CMakeCache.txt'));
  const generator = !fresh && process.platform !== 'win32' && hasNinja() ? ['-G', 'Ninja'] : [];
  return [
    ...generator,
    '-DCMAKE_BUILD_TYPE=Release',
    `-DGGML_INCLUDE_DIR=${ggmlIncludeDir}`,
    `-DGGML_LIB_DIR=${nativeOut}`,
    `-DNODE_ADDON_API_DIR=${nodeAddonApiDir}`,
    `-DNODE_API_HEADERS_DIR=${nodeApiHeadersDir}`,
    `-DMIZUOTO_OUT_DIR=${linkedDir}`,
  ];
}

function hasNinja() {
  try {
    run('ninja', ['--version']);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a fresh clone ready: packages, native core, bundles. Every step is skipped when nothing changed, so each
 * script calls this first. Uses only Node's own modules until the packages are there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BuildError, fingerprint, main, npm, once, root, say } from './lib/run.mjs';

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new BuildError(`Node ${process.versions.node} is too old: Mizuoto needs Node 20.19 or newer.`);
  }
}

export async function ensurePackages() {
  checkNode();
  const key = fingerprint(['package-lock.json'], [`${process.platform}-${process.arch}`]);
  await once('packages', key, [join(root, 'node_modules', 'esbuild')], () => {
    if (alreadyInstalled()) return;
    say('installing packages (npm ci)...');
    npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  });
}

/** npm leaves a copy of the lock in node_modules: when it names the same versions, there is nothing to do. */
function alreadyInstalled() {
  const hidden = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  const installed = JSON.parse(readFileSync(hidden, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || entry.optional || entry.devOptional) return true;
    return installed[path]?.version === entry.version;
  });
}

/** Everything that the command line, the shell and the tests need. */
export async function ensureSetup() {
  await ensurePackages();
  const { ensureNative } = await import('./native.mjs');
  await ensureNative();
  const { ensureBundles } = await import('./bundle.mjs');
  await ensureBundles();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main(async () => {
    await ensureSetup();
    say('ready.');
  });
}

/** Bundles of main/, app/ and the renderer into dist/. Imported only after node_modules is complete. */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint, once, root, say } from './lib/run.mjs';

const dist = join(root, 'dist');

/** Bundled entry -> source. Workers are files of their own, started by URL beside the bundle. */
const nodeEntries = {
  'main/cli': 'main/cli/cli.ts',
  'main/host-worker': 'main/host/worker.ts',
  'main/device-process': 'main/host/isolated/device-process.ts',
  'main/engine-process': 'main/host/engine-process/entry.ts',
  'main/studio-server': 'main/server/main.ts',
};
const appEntries = { 'app/main': 'app/main.ts' };

async function bundleNode(entries) {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: dist,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    legalComments: 'linked',
    external: ['electron'],
    logLevel: 'warning',
    // CommonJS packages inside an ESM bundle ask for require.
    banner: {
      js: "import { createRequire as __mizuotoRequire } from 'node:module'; const require = __mizuotoRequire(import.meta.url);",
    },
  });
}

/** A sandboxed preload must be CommonJS and may require nothing but electron. */
async function bundlePreload() {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: { 'app/preload': 'app/preload.ts' },
    outdir: dist,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'chrome130',
    external: ['electron'],
    logLevel: 'warning',
  });
}

export async function ensureBundles() {
  const shared = [
    'main',
    'native/addon.ts',
    'native/load.ts',
    'package.json',
    'tsconfig.json',
    'build/bundle.mjs',
  ];
  const entries = Object.fromEntries(
    Object.entries(nodeEntries).filter(([, source]) => existsSync(join(root, source))),
  );
  await once(
    'bundle-main',
    fingerprint(shared),
    Object.keys(entries).map((name) => join(dist, `${name}.mjs`)),
    async () => {
      say('bundling the main process...');
      await bundleNode(entries);
      const assets = join(root, 'main', 'text', 'assets');
      if (existsSync(assets)) {
        mkdirSync(join(dist, 'main'), { recursive: true });
        cpSync(assets, join(dist, 'main', 'assets'), { recursive: true });
      }
      // Read by main/audio/compressed/mp3.ts.
      const minimp3 = join(root, 'node_modules', 'minimp3-wasm', 'dist', 'decoder.opt.wasm');
      cpSync(minimp3, join(dist, 'main', 'assets', 'minimp3.wasm'));
      const notices = join(root, 'main', 'audio', 'compressed', 'NOTICE');
      cpSync(notices, join(dist, 'main', 'assets', 'NOTICE.audio-decoders'));
    },
  );
  await once(
    'bundle-app',
    fingerprint([...shared, 'app']),
    [join(dist, 'app', 'main.mjs'), join(dist, 'app', 'preload.cjs')],
    async () => {
      say('bundling the shell...');
      await bundleNode(appEntries);
      await bundlePreload();
    },
  );
  await once(
    'bundle-renderer',
    fingerprint(['renderer', 'main/contract', 'package-lock.json']),
    [join(dist, 'renderer', 'index.html')],
    async () => {
      say('bundling the renderer...');
      const { build } = await import('vite');
      rmSync(join(dist, 'renderer'), { recursive: true, force: true });
      await build({
        root: join(root, 'renderer'),
        configFile: join(root, 'renderer', 'vite.config.ts'),
        logLevel: 'warn',
      });
    },
  );
}

/** The stand-in for the `electron` module, where tests run without Electron's binary. */
export async function ensureStandIn() {
  const outputs = ['electron', 'register'].map((name) => join(dist, 'e2e', `${name}.mjs`));
  await once('bundle-e2e', fingerprint(['e2e/stand-in', 'build/bundle.mjs']), outputs, async () => {
    const { build } = await import('esbuild');
    await build({
      absWorkingDir: root,
      entryPoints: { 'e2e/electron': 'e2e/stand-in/electron.ts', 'e2e/register': 'e2e/stand-in/register.ts' },
      outdir: dist,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      logLevel: 'warning',
    });
  });
}

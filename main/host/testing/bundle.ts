import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Bundled entry -> source, as build/bundle.mjs has them. */
const entries = {
  cli: 'main/cli/cli.ts',
  'host-worker': 'main/host/worker.ts',
  'studio-server': 'main/server/main.ts',
};

/** Fresh bundles in a temporary folder: tests run what is in the tree, not what was built some time ago. */
export async function bundleForTest(
  names: (keyof typeof entries)[],
): Promise<{ folder: string; path(name: keyof typeof entries): string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-bundle-'));
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(names.map((name) => [name, entries[name]])),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['electron'],
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __mizuotoRequire } from 'node:module'; const require = __mizuotoRequire(import.meta.url);",
    },
  });
  return {
    folder,
    path: (name) => join(folder, `${name}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

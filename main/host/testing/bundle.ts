import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Bundled entry -> source, as build/bundle.mjs has them. */
const entries = {
  cli: 'main/cli/cli.ts',
  'host-worker': 'main/host/worker.ts',
  'device-process': 'main/host/isolated/device-process.ts',
  'engine-process': 'main/host/engine-process/entry.ts',
  'studio-server': 'main/server/main.ts',
};

export interface TestBundle {
  /** Beside which the renderer would lie. */
  folder: string;
  path(name: keyof typeof entries): string;
  remove(): void;
}

/**
 * Fresh bundles in `dist/test-…/`: tests run what is in the tree, not what was built some time ago. Within dist,
 * because bundles find the native core and the built-in voice relative to themselves.
 */
export async function bundleForTest(names: (keyof typeof entries)[]): Promise<TestBundle> {
  mkdirSync(join(root, 'dist'), { recursive: true });
  const folder = mkdtempSync(join(root, 'dist', 'test-'));
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

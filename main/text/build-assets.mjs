/**
 * Builds the packed assets of main/text: `node main/text/build-assets.mjs [dictionary] [letters] [evaluate]`
 * (everything without arguments). The same input gives the same bytes. Needs the development dependencies.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const work = mkdtempSync(join(here, '.build-'));
try {
  const outfile = join(work, 'build-assets.mjs');
  await build({
    entryPoints: [join(here, 'training', 'build-assets.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
  const { buildAssets } = await import(pathToFileURL(outfile).href);
  buildAssets(join(here, 'assets'), process.argv.slice(2));
} finally {
  rmSync(work, { recursive: true, force: true });
}

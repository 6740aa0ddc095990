/** Rewrites all sources in the house format. */
import { join } from 'node:path';
import { nativeSources } from './check.mjs';
import { main, root, run } from './lib/run.mjs';
import { ensurePackages } from './setup.mjs';

main(async () => {
  await ensurePackages();
  const bin = (name) => join(root, 'node_modules', '.bin', name);
  run(bin('biome'), ['check', '--write', '.']);
  run(bin('clang-format'), ['-i', ...nativeSources()]);
});

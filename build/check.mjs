/** Everything static: types, lint, format, import arrows, unused code, C++ format. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, main, root, run, say } from './lib/run.mjs';
import { ensurePackages } from './setup.mjs';

const bin = (name) => join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);
const shell = process.platform === 'win32';

/** Our own C++ files, for clang-format. */
export function nativeSources(folder = join(root, 'native')) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) return ['build', 'out'].includes(entry.name) ? [] : nativeSources(full);
    return /\.(cc|h)$/.test(entry.name) ? [full] : [];
  });
}

const steps = [
  ['types', () => run(bin('tsc'), ['-p', '.'], { shell })],
  ['types of e2e', () => run(bin('tsc'), ['-p', 'e2e'], { shell })],
  ['types of the renderer', () => run(bin('tsc'), ['-p', 'renderer'], { shell })],
  ['lint and format', () => run(bin('biome'), ['ci', '--colors=off', '--error-on-warnings', '.'], { shell })],
  [
    'import arrows',
    () =>
      run(
        bin('depcruise'),
        ['main', 'native', 'app', 'renderer/src', '--config', '.dependency-cruiser.cjs'],
        { shell },
      ),
  ],
  ['unused code', () => run(bin('knip'), ['--no-progress'], { shell })],
  ['C++ format', () => run(bin('clang-format'), ['--dry-run', '--Werror', ...nativeSources()], { shell })],
];

export async function check() {
  await ensurePackages();
  const failed = [];
  for (const [name, step] of steps) {
    try {
      step();
      say(`ok: ${name}`);
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      say(`FAILED: ${name}. ${error.message}`);
      failed.push(name);
    }
  }
  return failed;
}

if (process.argv[1]?.endsWith('check.mjs')) main(async () => ((await check()).length === 0 ? 0 : 1));

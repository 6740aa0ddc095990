import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/run.mjs';

/**
 * Path of Electron's binary, or null where it was never downloaded. (Requiring the package would start a download.)
 * @returns {string | null}
 */
export function electronBinary() {
  const note = join(root, 'node_modules', 'electron', 'path.txt');
  const names = { darwin: 'Electron.app/Contents/MacOS/Electron', win32: 'electron.exe' };
  const name = existsSync(note) ? readFileSync(note, 'utf8') : (names[process.platform] ?? 'electron');
  const folder = process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(root, 'node_modules', 'electron', 'dist');
  const binary = join(folder, name);
  return existsSync(binary) ? binary : null;
}

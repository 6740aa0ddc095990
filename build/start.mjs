/**
 * Opens the studio: Electron where its binary can be had, otherwise the same renderer served on 127.0.0.1.
 *   npm start                   the window
 *   npm start -- --no-open      serve the page, print its address and open nothing
 *   npm start -- --browser      the served page even where Electron is there
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { electronBinary } from './electron.mjs';
import { foreground, main, root, say } from './lib/run.mjs';
import { ensureSetup } from './setup.mjs';

/** Electron fetches its binary at first use; where that fails we go on without it. */
function tryDownload() {
  say('looking for Electron (its binary is downloaded once)...');
  return new Promise((done) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', 'electron', 'install.js')], {
      stdio: 'ignore',
    });
    const timer = setTimeout(() => child.kill(), 300_000);
    child.on('error', () => done(null));
    child.on('exit', () => {
      clearTimeout(timer);
      done(electronBinary());
    });
  });
}

main(async () => {
  const args = process.argv.slice(2);
  await ensureSetup();
  // A window that nobody may open is a page to be opened elsewhere.
  const page = args.includes('--browser') || args.includes('--no-open');
  const binary = page ? null : (electronBinary() ?? (await tryDownload()));
  if (binary) return foreground(binary, [root, ...args]);
  say(
    page
      ? 'serving the studio as a page.'
      : "Electron's binary cannot be had here; serving the same studio as a page in your browser instead.",
  );
  return foreground(process.execPath, [
    join(root, 'dist', 'main', 'studio-server.mjs'),
    ...args.filter((a) => a !== '--browser'),
  ]);
});

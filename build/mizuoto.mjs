#!/usr/bin/env node
/** The `mizuoto` command: sets a clone up where needed, then runs the bundled command line. */
import { join } from 'node:path';
import { foreground, main, root } from './lib/run.mjs';
import { ensureSetup } from './setup.mjs';

main(async () => {
  await ensureSetup();
  return foreground(process.execPath, [join(root, 'dist', 'main', 'cli.mjs'), ...process.argv.slice(2)]);
});

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { bundleForTest } from '../../host/testing/bundle.ts';
import { type Outcome, type StartOptions, start } from './process.ts';

type Options = Partial<StartOptions>;

/** The command line as its users start it, in a folder of each test's own. */
export interface CommandLine {
  readonly folder: string;
  /** The bundled program. */
  readonly program: string;
  launch(args: string[], options?: Options): ReturnType<typeof start>;
  mizuoto(args: string[], options?: Options): Promise<Outcome>;
  /** `mizuoto say` with the engine of tones. */
  say(args: string[], options?: Options): Promise<Outcome>;
  /** What stands in the folder, without the studio's own home. */
  files(): string[];
}

/** Bundled once for the tests of a file. */
export function commandLine(): CommandLine {
  let bundle: Awaited<ReturnType<typeof bundleForTest>>;
  let folder = '';
  beforeAll(async () => {
    bundle = await bundleForTest(['cli', 'host-worker']);
  });
  afterAll(() => bundle.remove());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mizuoto-cli-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const launch = (args: string[], options: Options = {}) =>
    start(bundle.path('cli'), args, { cwd: folder, ...options });
  const mizuoto = (args: string[], options: Options = {}) => launch(args, options).outcome;
  return {
    get folder() {
      return folder;
    },
    get program() {
      return bundle.path('cli');
    },
    launch,
    mizuoto,
    say: (args, options = {}) => mizuoto(['say', '--engine', 'tone', ...args], options),
    files: () => readdirSync(folder).filter((name) => name !== '.home'),
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bundleForTest } from '../host/testing/bundle.ts';
import { start } from './testing/process.ts';

let bundle: Awaited<ReturnType<typeof bundleForTest>>;
let folder: string;

beforeAll(async () => {
  bundle = await bundleForTest(['cli', 'host-worker']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-ending-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = (): string[] => readdirSync(folder).filter((name) => name !== '.home');
/** Long enough for a busy machine, and far less than for ever. */
const bound = 30_000;

/** Ctrl-C once, while nothing that it waits for would ever end. */
describe('one Ctrl-C is enough', () => {
  it(
    'where the engine does not heed it',
    async () => {
      const { child, outcome } = start(
        bundle.path('cli'),
        ['say', '--engine', 'tone', '--voice', 'numb', '--out', 'a.wav', 'One. Two.'],
        { cwd: folder },
      );
      await expect.poll(files, { timeout: 20_000 }).not.toEqual([]);
      // The file is begun before the host: now the job is under way.
      await new Promise((resolve) => setTimeout(resolve, 2000));
      child.kill('SIGINT');
      expect(await outcome).toMatchObject({
        exit: 130,
        stderr: 'mizuoto: Cancelled; nothing was saved. (cancelled)\n',
      });
      expect(files()).toEqual([]);
    },
    2 * bound,
  );

  it(
    'where the text never comes to its end',
    async () => {
      const child = spawn(process.execPath, [bundle.path('cli'), 'say', '--file', '-', '--out', 'a.wav'], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, MIZUOTO_HOME: join(folder, '.home'), LANG: 'C.UTF-8' },
      });
      let stderr = '';
      child.stderr.on('data', (text: Buffer) => {
        stderr += text;
      });
      // More than a pipe holds: it is read when this has been taken.
      child.stdin.write('One. '.repeat(50_000));
      await once(child.stdin, 'drain');
      child.kill('SIGINT');
      const [code] = await once(child, 'close');
      expect({ code, stderr }).toEqual({ code: 130, stderr: 'mizuoto: Cancelled. (cancelled)\n' });
      expect(files()).toEqual([]);
    },
    2 * bound,
  );
});

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runtimeSnapshotSchema } from '../contract/index.ts';
import { commandLine } from './testing/command-line.ts';

const cli = commandLine();
const { launch, files } = cli;

describe('being stopped', () => {
  const begin = async (...args: string[]) => {
    const running = launch([
      'say',
      '--engine',
      'tone',
      '--voice',
      'stall',
      '--out',
      'a.wav',
      ...args,
      'One. Two.',
    ]);
    await expect.poll(() => files().length, { timeout: 10_000 }).toBeGreaterThan(0);
    return running;
  };

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s tidies up and exits with %i', async (signal, code) => {
    const { child, outcome } = await begin();
    child.kill(signal);
    const { exit, stderr, stdout } = await outcome;
    expect(exit).toBe(code);
    expect(stderr).toBe('mizuoto: Cancelled; nothing was saved. (cancelled)\n');
    expect(stdout.length).toBe(0);
    expect(files()).toEqual([]);
  });

  it('keeps the file that stood there before', async () => {
    writeFileSync(join(cli.folder, 'b.wav'), 'old');
    const running = launch(['say', '--engine', 'tone', '--voice', 'stall', '--out', 'b.wav', 'One. Two.']);
    await expect.poll(() => files().length, { timeout: 10_000 }).toBeGreaterThan(1);
    running.child.kill('SIGINT');
    expect((await running.outcome).exit).toBe(130);
    expect(readFileSync(join(cli.folder, 'b.wav'), 'utf8')).toBe('old');
    expect(files()).toEqual(['b.wav']);
  });

  it('ends at once when told twice, and leaves no hidden file', async () => {
    writeFileSync(join(cli.folder, 'c.wav'), 'old');
    const running = launch(['say', '--engine', 'tone', '--voice', 'deaf', '--out', 'c.wav', 'One. Two.']);
    await expect.poll(() => files().length, { timeout: 10_000 }).toBeGreaterThan(1);
    running.child.kill('SIGINT');
    // Two signals sent together would arrive as one.
    await new Promise((resolve) => setTimeout(resolve, 150));
    running.child.kill('SIGINT');
    expect((await running.outcome).exit).toBe(130);
    expect(files()).toEqual(['c.wav']);
    expect(readFileSync(join(cli.folder, 'c.wav'), 'utf8')).toBe('old');
  });

  it('reports it as JSON where JSON was asked for', async () => {
    const { child, outcome } = await begin('--json');
    child.kill('SIGINT');
    expect(JSON.parse((await outcome).stdout.toString()).error.code).toBe('cancelled');
  });

  it('ends quietly when nobody reads any more', async () => {
    const text = 'Nineteen letters on. '.repeat(3_000);
    const { child, outcome } = launch(['say', '--engine', 'tone', '--stream'], { input: text });
    await once(child.stdout!, 'data');
    child.stdout!.destroy();
    const { exit, stderr } = await outcome;
    expect({ exit, stderr }).toEqual({ exit: 141, stderr: '' });
  });
});

describe('mizuoto runtime --watch', () => {
  it('prints one object a line until Ctrl-C', async () => {
    const { child, outcome } = launch(['runtime', '--watch', '--json']);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    const { exit, stdout } = await outcome;
    expect(exit).toBe(130);
    for (const line of stdout.toString().trimEnd().split('\n')) {
      expect(runtimeSnapshotSchema.safeParse(JSON.parse(line)).success).toBe(true);
    }
  });
});

/** Long enough for a busy machine, and far less than for ever. */
const bound = 30_000;

/** Ctrl-C once, while nothing that it waits for would ever end. */
describe('one Ctrl-C is enough', () => {
  it(
    'where the engine does not heed it',
    async () => {
      const { child, outcome } = launch([
        'say',
        '--engine',
        'tone',
        '--voice',
        'numb',
        '--out',
        'a.wav',
        'One. Two.',
      ]);
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
      const { child, outcome } = launch(['say', '--file', '-', '--out', 'a.wav'], { input: null });
      // More than a pipe holds: it is read when this has been taken.
      child.stdin!.write('One. '.repeat(50_000));
      await once(child.stdin!, 'drain');
      child.kill('SIGINT');
      expect(await outcome).toMatchObject({ exit: 130, stderr: 'mizuoto: Cancelled. (cancelled)\n' });
      expect(files()).toEqual([]);
    },
    2 * bound,
  );
});

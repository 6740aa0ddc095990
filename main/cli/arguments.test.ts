import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oneOf, parseCommandLine, positiveNumber, wholeNumber } from './arguments.ts';
import { Messages } from './messages.ts';
import { run } from './run.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-arguments-'));
  writeFileSync(join(folder, 'half.txt'), Buffer.from([0xff, 0xfe, 0x61, 0x00, 0x3d, 0xd8]));
  writeFileSync(join(folder, 'huge.txt'), 'x'.repeat(6_000_001));
  writeFileSync(join(folder, 'ok.txt'), 'Hello.');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** In this process: only for command lines that are refused before a host is started. */
async function refused(args: string[]): Promise<{ exit: number; stdout: string; stderr: string }> {
  const collect = () => {
    const stream = new PassThrough();
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    return { stream: stream as unknown as NodeJS.WriteStream, text: () => text };
  };
  const [stdout, stderr] = [collect(), collect()];
  const exit = await run(args, {
    stdin: new PassThrough().end() as unknown as NodeJS.ReadStream,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: {},
    cwd: folder,
    messages: new Messages('en'),
    signal: new AbortController().signal,
  });
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

describe('a command line', () => {
  it('is taken apart', () => {
    const parsed = parseCommandLine([
      'say',
      '-e',
      'tone',
      'One',
      '--seed=3',
      'two',
      '-s',
      'a=1',
      '-s',
      'b=2',
      '-q',
      '--',
      '-x',
    ]);
    expect(parsed).toEqual({
      command: 'say',
      positionals: ['One', 'two', '-x'],
      strings: { engine: 'tone', seed: '3' },
      lists: { setting: ['a=1', 'b=2'] },
      flags: new Set(['quiet']),
    });
    expect(parseCommandLine([]).command).toBe('help');
    expect(parseCommandLine(['-V']).command).toBe('version');
    expect(parseCommandLine(['say', '--help'])).toMatchObject({ command: 'help', positionals: ['say'] });
    expect(parseCommandLine(['say', '--speed', '-1']).strings.speed).toBe('-1');
    expect(parseCommandLine(['say', '--out', '-']).strings.out).toBe('-');
  });

  it('has plain numbers', () => {
    expect(['2', '1.5', '.5', '1.', '+1', '1e-1'].map((text) => positiveNumber('-x', text))).toEqual([
      2, 1.5, 0.5, 1, 1, 0.1,
    ]);
    expect(wholeNumber('-x', '4294967295', 0, 2 ** 32 - 1)).toBe(4294967295);
    expect(positiveNumber('-x', undefined)).toBeUndefined();
    expect(oneOf('-x', 'a', ['a', 'b'])).toBe('a');
    for (const text of ['', ' ', '1 ', '0x10', 'Infinity', 'NaN', '1e999', '1,5', '--1', '１']) {
      expect(() => positiveNumber('-x', text), text).toThrow(/takes a number/);
    }
  });
});

it.each<[string[], number, RegExp]>([
  [['say', 'x', '--egnine', 'tone'], 2, /no option --egnine.*"--engine"/],
  [['say', 'x', '--toString'], 2, /no option --toString/],
  [['say', 'x', '-x'], 2, /no option -x/],
  [['say', 'x', '--engine'], 2, /--engine needs a value/],
  [['say', 'x', '--out', '--seed'], 2, /--out needs a value/],
  [['say', 'x', '--quiet=yes'], 2, /--quiet takes no value/],
  [['say', 'x', '--seed', '1', '--seed', '2'], 2, /--seed is given twice/],
  [['say', 'x', '--seed', '1.5'], 2, /whole number from 0 to 4294967295/],
  [['say', 'x', '--seed', '4294967296'], 2, /whole number/],
  [['say', 'x', '--seed', '-1'], 2, /whole number/],
  [['say', 'x', '--pitch', '-1'], 2, /above 0/],
  [['say', 'x', '--encoding', 'pcm'], 2, /one of pcm16, pcm24.*none of them/],
  [['say', 'x', '-s', 'compute.vram_mode'], 2, /write key=value/],
  [['say', 'x', '-s', '=low'], 2, /write key=value/],
  [['say', 'x', '-s', 'compute.simulate_vram_mb=-4'], 2, /above 0/],
  [['say', 'x', '--file', 'ok.txt'], 2, /given twice/],
  [['say', 'x', '--stream', '--out', 'a.wav'], 2, /cannot be used with --out a.wav/],
  [['say', '-5 degrees'], 2, /goes after "--"/],
  [['say', 'a\ufffdb'], 3, /U\+FFFD at position 2/],
  [['say', '-f', 'huge.txt'], 3, /more than 5\.7 MiB/],
  [['say', '-f', 'ok.txt/inner'], 4, /does not exist/],
  [['say', '-f', 'half.txt'], 4, /is not UTF-8 text/],
  [['say', 'x', '-o', 'ok.txt/a.wav'], 5, /not a folder/],
  [['say', 'x', '-o', `${'n'.repeat(300)}.wav`], 5, /too long/],
  [['settings', 'get', 'compute.vram_mod'], 2, /compute.vram_mode/],
  [['settings', 'get', 'ui.theme', 'x'], 2, /does not take "x"/],
  [['settings', 'set'], 2, /at least one setting/],
  [['settings', 'reset', 'no.such'], 2, /no setting named/],
  [['settings', 'sett', 'a=1'], 2, /Did you mean "set"/],
  [['settings'], 2, /get, set or reset/],
  [['engines', 'extra'], 2, /does not take "extra"/],
  [['help', 'sya'], 2, /Did you mean "say"/],
  [['x'.repeat(100_000)], 2, /no command "x{39}…"/],
])('%j is refused in one line', async (args, code, message) => {
  const { exit, stdout, stderr } = await refused(args);
  expect({ exit, stdout }).toEqual({ exit: code, stdout: '' });
  expect(stderr).toMatch(/^mizuoto: [^\n]+ \([a-z_]+\)\n$/);
  expect(stderr).toMatch(message);
});

it('JSON and WAV cannot share the standard output', async () => {
  const { exit, stdout } = await refused(['say', 'x', '--json', '--out', '-']);
  expect(exit).toBe(2);
  expect(JSON.parse(stdout).error.message).toMatch(/both want the standard output/);
});

it('what comes after -- is text, even --json', async () => {
  const { stdout, stderr } = await refused(['say', '--speed', 'x', '--', '--json']);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/takes a number/);
});

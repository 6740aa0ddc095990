import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWav } from '../audio/wav.ts';
import { speakResultSchema } from '../contract/index.ts';
import { commandLine } from './testing/command-line.ts';

const cli = commandLine();
const { launch, mizuoto, say, files } = cli;

describe('mizuoto say', () => {
  it('saves a WAV file and prints one object', async () => {
    const { exit, stdout, stderr } = await say([
      'Hello',
      'there.',
      '--out',
      'a.wav',
      '--seed',
      '7',
      '--speed',
      '2',
      '--json',
    ]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout.toString().match(/\n/g)).toHaveLength(1);
    const printed = JSON.parse(stdout.toString());
    expect(Object.keys(printed).sort()).toEqual(
      [
        'applied',
        'engine',
        'file',
        'meta',
        'model',
        'rtf',
        'sample_rate',
        'seconds',
        'seed',
        'voice',
        'warnings',
      ].sort(),
    );
    expect(speakResultSchema.safeParse(printed).success).toBe(true);
    expect(printed).toMatchObject({ file: 'a.wav', seed: 7, engine: 'tone', applied: { speed: 2 } });
    const audio = await readWav(readFileSync(join(cli.folder, 'a.wav')));
    expect(audio.seconds).toBeCloseTo(printed.seconds, 6);
    expect(audio.samples[0]!.some((sample) => Math.abs(sample) > 0.2)).toBe(true);
    expect(files()).toEqual(['a.wav']);
  });

  it('gives the same bytes for the same seed, other bytes for another', async () => {
    await Promise.all([
      say(['Hello.', '-o', 'a.wav', '--seed', '7']),
      say(['Hello.', '-o', 'b.wav', '--seed', '7']),
      say(['Hello.', '-o', 'c.wav', '--seed', '8']),
    ]);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => readFileSync(join(cli.folder, `${name}.wav`)));
    expect(a!.equals(b!)).toBe(true);
    expect(a!.equals(c!)).toBe(false);
  });

  it('chooses a new name each time when none is given', async () => {
    const first = await say(['One.', '--quiet']);
    const second = await say(['Two.', '--quiet']);
    const names = [first, second].map(({ stdout }) => stdout.toString().trim());
    expect(names[0]).toMatch(/^mizuoto-\d{8}-\d{6}\.wav$/);
    expect(new Set(names).size).toBe(2);
    expect(files().sort()).toEqual([...names].sort());
  });

  it('says in one line what it did', async () => {
    const { stdout } = await say(['Hello there.', '--out', 'a.wav', '--seed', '7']);
    expect(stdout.toString()).toMatch(
      /^a\.wav: 0\.6 s of speech at 16000 Hz, [\d.]+x real time, seed 7\.\n$/,
    );
  });

  it('reads a file, a pipe, and UTF-16 with a byte order mark', async () => {
    writeFileSync(join(cli.folder, 'plain.txt'), '\ufeffHello.');
    writeFileSync(join(cli.folder, 'wide.txt'), Buffer.from('\ufeffHello.', 'utf16le'));
    const common = ['--seed', '1', '--quiet', '--out'];
    const outcomes = [
      await say(['Hello.', ...common, '0.wav']),
      await say(['--file', 'plain.txt', ...common, '1.wav']),
      await say(['--file', 'wide.txt', ...common, '2.wav']),
      await say(['--file', '-', ...common, '3.wav'], { input: 'Hello.' }),
      await say(['-', ...common, '4.wav'], { input: 'Hello.' }),
      await say([...common, '5.wav'], { input: 'Hello.' }),
    ];
    expect(outcomes.map(({ exit, stderr }) => `${exit}${stderr}`)).toEqual(Array(6).fill('0'));
    const [first, ...rest] = [0, 1, 2, 3, 4, 5].map((n) => readFileSync(join(cli.folder, `${n}.wav`)));
    for (const other of rest) expect(other.equals(first!)).toBe(true);
  });

  it('takes text that begins with a dash after --', async () => {
    expect((await say(['--out', 'a.wav', '--', '-5 degrees.'])).exit).toBe(0);
    const { exit, stderr } = await say(['-5 degrees.']);
    expect(exit).toBe(2);
    expect(stderr).toContain('goes after "--"');
  });

  it('writes to the standard output: whole, or as it comes', async () => {
    await say(['One. Two.', '--seed', '1', '--out', 'a.wav']);
    const file = readFileSync(join(cli.folder, 'a.wav'));
    const whole = await say(['One. Two.', '--seed', '1', '--out', '-']);
    expect(whole.exit).toBe(0);
    expect(whole.stdout.equals(file)).toBe(true);
    expect(whole.stderr).toMatch(/^mizuoto: 0\.4 s of speech/);
    const streamed = await say(['One. Two.', '--seed', '1', '--stream', '--quiet']);
    expect(streamed.stderr).toBe('');
    expect(streamed.stdout.subarray(44).equals(file.subarray(44))).toBe(true);
    expect(streamed.stdout.readUInt32LE(40)).toBe(0xffffffff);
  });

  it('streams while it still speaks', async () => {
    const { child, outcome } = launch([
      'say',
      '--engine',
      'tone',
      '--voice',
      'slow',
      '--stream',
      'A. '.repeat(20),
    ]);
    await once(child.stdout!, 'data');
    const heard = performance.now();
    await outcome;
    expect(performance.now() - heard).toBeGreaterThan(500);
  });

  it('applies settings to the one request', async () => {
    const { exit } = await say([
      'Hi.',
      '--out',
      'a.wav',
      '-s',
      'compute.vram_mode=low',
      '-s',
      'compute.device=CPU',
    ]);
    expect(exit).toBe(0);
    const { stdout } = await mizuoto(['settings', 'get', 'compute.vram_mode']);
    expect(stdout.toString()).toBe('auto\n');
  });

  it('shows a bar on a terminal only', async (context) => {
    const quoted = [
      process.execPath,
      cli.program,
      'say',
      '--engine',
      'tone',
      '--voice',
      'slow',
      '"A. B. C."',
      '--out',
      'a.wav',
    ];
    const terminal = spawnSync('script', ['-qec', quoted.join(' '), '/dev/null'], {
      cwd: cli.folder,
      env: {
        ...process.env,
        MIZUOTO_HOME: join(cli.folder, '.home'),
        MIZUOTO_TEST_ENGINES: '1',
        LANG: 'C.UTF-8',
      },
      encoding: 'utf8',
    });
    if (terminal.error) return context.skip('the program "script" is not installed');
    expect(terminal.stdout).toMatch(/\r\[#+-*\] +\d+% {2}speaking {2}tone {2}\d\/3 parts/);
    expect(terminal.stdout).toContain('\r\u001b[Ka.wav: ');
    const piped = await say(['A. B. C.', '--voice', 'slow', '--out', 'a.wav']);
    expect(piped.stderr).toBe('');
  });
});

describe('long text', () => {
  it('of 500,000 characters is spoken', async () => {
    const text = 'Half a million characters. '.repeat(18_519);
    const { exit, stdout } = await say(['--voice', 'brief', '--out', 'a.wav', '--json'], { input: text });
    expect(exit).toBe(0);
    expect(JSON.parse(stdout.toString()).meta.chunks).toBe(18_519);
  });

  it('takes no more memory than short text', async () => {
    const short = await say(['--out', 'short.wav'], { input: 'Nineteen letters on. '.repeat(10) });
    // 51 minutes: 196 MB of samples, had they been kept.
    const text = 'Nineteen letters on. '.repeat(3_000);
    const long = await say(['--out', 'long.wav'], { input: text });
    const streamed = await say(['--out', '-', '--quiet'], { input: text });
    expect([short.exit, long.exit, streamed.exit]).toEqual([0, 0, 0]);
    expect(statSync(join(cli.folder, 'long.wav')).size).toBe(streamed.stdout.length);
    if (process.platform === 'linux') {
      expect(long.peakMb - short.peakMb).toBeLessThan(90);
      expect(streamed.peakMb - short.peakMb).toBeLessThan(90);
    }
  });
});

it('says that a file named for another format is a WAV file', async () => {
  const { exit, stderr } = await say(['Hello.', '--out', 'a.mp3']);
  expect(exit).toBe(0);
  expect(stderr).toContain('mizuoto: warning: a.mp3 will be a WAV file whatever its name says');
  expect(readFileSync(join(cli.folder, 'a.mp3')).toString('latin1', 0, 4)).toBe('RIFF');
});

describe('no space', () => {
  it.skipIf(process.platform !== 'linux')('on a device that is full', async () => {
    const { exit, stderr } = await say(['Hello.', '--out', '/dev/full']);
    expect(exit).toBe(5);
    expect(stderr).toMatch(/disk is full.*\(disk_full\)/);
  });

  it.skipIf(process.platform !== 'linux')('on the standard output', () => {
    const env = { ...process.env, MIZUOTO_HOME: join(cli.folder, '.home'), LC_ALL: 'C' };
    const out = openSync('/dev/full', 'w');
    try {
      const args = [cli.program, 'version'];
      const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', out, 'pipe'] });
      expect(stderr.toString()).toBe(
        'mizuoto: The disk is full. Free some space and try again. (disk_full)\n',
      );
      expect(status).toBe(5);
    } finally {
      closeSync(out);
    }
  });

  it('on a small disk: nothing is left under the name', async (context) => {
    const disk = join(cli.folder, 'disk');
    spawnSync('mkdir', [disk]);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status !== 0) {
      return context.skip('a small disk cannot be mounted here');
    }
    try {
      const { exit, stderr } = await say(['A sentence of some length. '.repeat(20), '--out', 'disk/a.wav']);
      expect(exit).toBe(5);
      expect(stderr).toMatch(/\(disk_full\)\n$/);
      expect(readdirSync(disk)).toEqual([]);
    } finally {
      spawnSync('umount', [disk]);
    }
  });
});

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readWav } from '../audio/wav.ts';
import {
  doctorReportSchema,
  errorSchema,
  runtimeSnapshotSchema,
  speakResultSchema,
  verifyReportSchema,
} from '../contract/index.ts';
import { bundleForTest } from '../host/testing/bundle.ts';
import { type StartOptions, start } from './testing/process.ts';

let bundle: Awaited<ReturnType<typeof bundleForTest>>;
let folder: string;

beforeAll(async () => {
  bundle = await bundleForTest(['cli', 'host-worker']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-cli-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const launch = (args: string[], options: Partial<StartOptions> = {}) =>
  start(bundle.path('cli'), args, { cwd: folder, ...options });
const mizuoto = (args: string[], options: Partial<StartOptions> = {}) => launch(args, options).outcome;
const say = (args: string[], options: Partial<StartOptions> = {}) =>
  mizuoto(['say', '--engine', 'tone', ...args], options);
const files = () => readdirSync(folder).filter((name) => name !== '.home');

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
    const audio = await readWav(readFileSync(join(folder, 'a.wav')));
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
    const [a, b, c] = ['a', 'b', 'c'].map((name) => readFileSync(join(folder, `${name}.wav`)));
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
    writeFileSync(join(folder, 'plain.txt'), '\ufeffHello.');
    writeFileSync(join(folder, 'wide.txt'), Buffer.from('\ufeffHello.', 'utf16le'));
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
    const [first, ...rest] = [0, 1, 2, 3, 4, 5].map((n) => readFileSync(join(folder, `${n}.wav`)));
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
    const file = readFileSync(join(folder, 'a.wav'));
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
      bundle.path('cli'),
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
      cwd: folder,
      env: {
        ...process.env,
        MIZUOTO_HOME: join(folder, '.home'),
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
    expect(statSync(join(folder, 'long.wav')).size).toBe(streamed.stdout.length);
    if (process.platform === 'linux') {
      expect(long.peakMb - short.peakMb).toBeLessThan(90);
      expect(streamed.peakMb - short.peakMb).toBeLessThan(90);
    }
  });
});

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
    writeFileSync(join(folder, 'b.wav'), 'old');
    const running = launch(['say', '--engine', 'tone', '--voice', 'stall', '--out', 'b.wav', 'One. Two.']);
    await expect.poll(() => files().length, { timeout: 10_000 }).toBeGreaterThan(1);
    running.child.kill('SIGINT');
    expect((await running.outcome).exit).toBe(130);
    expect(readFileSync(join(folder, 'b.wav'), 'utf8')).toBe('old');
    expect(files()).toEqual(['b.wav']);
  });

  it('ends at once when told twice, and leaves no hidden file', async () => {
    writeFileSync(join(folder, 'c.wav'), 'old');
    const running = launch(['say', '--engine', 'tone', '--voice', 'deaf', '--out', 'c.wav', 'One. Two.']);
    await expect.poll(() => files().length, { timeout: 10_000 }).toBeGreaterThan(1);
    running.child.kill('SIGINT');
    // Two signals sent together would arrive as one.
    await new Promise((resolve) => setTimeout(resolve, 150));
    running.child.kill('SIGINT');
    expect((await running.outcome).exit).toBe(130);
    expect(files()).toEqual(['c.wav']);
    expect(readFileSync(join(folder, 'c.wav'), 'utf8')).toBe('old');
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

describe('mizuoto verify', () => {
  const verify = (args: string[], options: Partial<StartOptions> = {}) =>
    mizuoto(['verify', ...args], options);

  it('prints a table and succeeds where nothing differs', async () => {
    const { exit, stdout, stderr } = await verify(['--engine', 'tone']);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    const lines = stdout.toString().split('\n');
    expect(lines[0]).toMatch(/^ENGINE +RUN +DEVICE +STREAMED +RESIDENT +SECONDS +RETRIES +IDENTICAL$/);
    expect(lines[2]).toMatch(/^tone +all streamed +Simulated0 4 MiB +4\.0 +0\.0 +0\.01 +0 +yes$/);
    expect(stdout.toString()).toMatch(/Identical: 2 runs/);
  });

  it('fails and names the first sample where something differs, in each language', async () => {
    const [english, chinese] = await Promise.all([
      verify([]),
      verify(['-e', 'hum'], { env: { LANG: 'zh_CN.UTF-8' } }),
    ]);
    expect([english.exit, chinese.exit]).toEqual([11, 11]);
    expect(english.stdout.toString()).toMatch(/no: 1 samples differ from CPU plain, the first is number 123/);
    expect(english.stdout.toString()).toMatch(/1 of 4 runs differ/);
    expect(chinese.stdout.toString()).toMatch(/第一个是第 123 个/);
  });

  it('prints one object as the contract has it', async () => {
    const { exit, stdout } = await verify(['--engine', 'hum', '--json']);
    expect(exit).toBe(11);
    const report = verifyReportSchema.parse(JSON.parse(stdout.toString()));
    expect(report.ok).toBe(false);
    expect(report.runs[1]).toMatchObject({ identical: false, first_difference: 123 });
  });

  it('refuses what no run could mean', async () => {
    const codes = await Promise.all(
      [
        ['--engine', 'tome'],
        ['--setting', 'compute.vram_mod=low'],
        ['--text', ' '],
        ['--setting', 'compute.simulate_vram_mb=4', '--setting', 'compute.device=Vulkan0'],
      ].map(async (args) => JSON.parse((await verify([...args, '--json'])).stdout.toString()).error.code),
    );
    expect(codes).toEqual(['unknown_engine', 'unknown_setting', 'text_empty', 'contradictory_settings']);
  });

  it('stops at Ctrl-C', async () => {
    const { child, outcome } = launch(['verify', '--text', 'stall']);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    child.kill('SIGINT');
    const { exit, stderr } = await outcome;
    expect({ exit, stderr }).toEqual({
      exit: 130,
      stderr: 'mizuoto: Cancelled; nothing was saved. (cancelled)\n',
    });
  });
});

describe('mizuoto doctor', () => {
  const settings = (content: string) => {
    mkdirSync(join(folder, '.home'), { recursive: true });
    writeFileSync(join(folder, '.home', 'settings.json'), content);
  };

  it('finds nothing where nothing is broken', async () => {
    const { exit, stdout } = await mizuoto(['doctor']);
    expect(exit).toBe(0);
    expect(stdout.toString()).toMatch(/^Mizuoto .*Node/);
    expect(stdout.toString()).toMatch(/Memory policy\n {2}compute\.vram_mode/);
    expect(stdout.toString()).toMatch(/Nothing is broken\./);
  });

  it('ends with what would help, the broken first, and fails', async () => {
    settings('{"compute.vram_mode":"high","compute.vram_mod":"low","compute.device":"Vulkan7"}');
    const { exit, stdout } = await mizuoto(['doctor', '--json']);
    expect(exit).toBe(11);
    const report = doctorReportSchema.parse(JSON.parse(stdout.toString()));
    const failed = report.findings.filter(({ status }) => status === 'failed').map(({ id }) => id);
    expect(failed).toEqual(['settings_device_missing']);
    expect(report.findings.find(({ id }) => id === 'settings_problem')?.message).toMatch(/did you mean/);
    expect(report.fixes[0]).toMatch(/reset compute\.device/);
    const chinese = await mizuoto(['doctor'], { env: { LANG: 'zh_CN.UTF-8' } });
    expect(chinese.exit).toBe(11);
    expect(chinese.stdout.toString()).toMatch(
      /故障 {2}compute\.device 是 Vulkan7[\s\S]*最有用的做法:\n {2}1\. 让 Mizuoto/,
    );
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

describe('bad input', () => {
  beforeEach(() => {
    writeFileSync(join(folder, 'latin1.txt'), Buffer.from('caf\xe9 au lait', 'latin1'));
    writeFileSync(join(folder, 'nul.txt'), 'a\0b');
    writeFileSync(join(folder, 'surrogate.txt'), Buffer.from([0x61, 0xed, 0xa0, 0x80]));
    writeFileSync(join(folder, 'long.txt'), 'x'.repeat(2_000_001));
  });

  // Each error code that a command line can meet, through the real process; how arguments are refused in all their
  // variety stands in arguments.test.ts.
  const cases: [string[], number, string, RegExp][] = [
    [['sya', 'x'], 2, 'invalid_request', /no command "sya".*Did you mean "say"\?/],
    [['say', 'x', '--speed', 'fast'], 2, 'invalid_request', /"fast" is none/],
    [['say', 'x', '--speed', '9', '-e', 'tone'], 2, 'invalid_request', /speed of 9 .* from 0.5 to 2/],
    [['say', 'x', '-e', 'tnoe'], 2, 'unknown_engine', /Did you mean "tone"/],
    [['say', 'x', '-e', 'tone', '-v', 'nobody'], 2, 'unknown_voice', /no voice named "nobody"/],
    [['say', 'x', '-s', 'compute.vram_mod=low'], 2, 'unknown_setting', /Did you mean compute.vram_mode/],
    [['say', 'x', '-s', 'compute.vram_mode=lower'], 2, 'invalid_setting', /one of auto, high/],
    [
      ['say', 'x', '-e', 'tone', '-s', 'compute.vram_mode=high', '-s', 'compute.vram_limit_mb=9'],
      2,
      'contradictory_settings',
      /9 MiB/,
    ],
    [['say', '-e', 'tone'], 3, 'text_empty', /at least one word/],
    [['say', '-e', 'tone', '-f', 'nul.txt'], 3, 'text_malformed', /NUL byte at position 2/],
    [['say', '-e', 'tone', '-f', 'long.txt'], 3, 'text_too_long', /2,000,000/],
    [['say', '-e', 'tone', '-v', 'refuse', 'x'], 3, 'text_not_speakable', /Choose another voice/],
    [['say', '-f', 'missing.txt'], 4, 'file_not_found', /"missing.txt" does not exist/],
    [['say', '-f', '.'], 4, 'file_unreadable', /is a folder/],
    [['say', '-f', 'latin1.txt'], 4, 'file_not_text', /byte 4 /],
    [['say', '-f', 'surrogate.txt'], 4, 'file_not_text', /byte 2 /],
    [['say', 'x', '-o', '.'], 5, 'output_not_writable', /folder, not a file/],
    [['say', 'x', '-o', 'no/such/a.wav'], 5, 'output_not_writable', /folder does not exist/],
    [['say', 'x', '-e', 'tone', '-v', 'memory', '-o', 'a.wav'], 7, 'out_of_device_memory', /Needed 700 MiB/],
    [['say', 'x', '-e', 'tone', '-v', 'nan', '-o', 'a.wav'], 8, 'job_failed', /not a finite number/],
    [['say', 'x', '-e', 'tone', '-v', 'crash', '-o', 'a.wav'], 9, 'host_crashed', /crashed/],
    [['say', 'x', '-e', 'tone', '-v', 'throw', '-o', 'a.wav'], 1, 'internal', /went wrong inside/],
    [['settings', 'set', 'compute.threads=0'], 2, 'invalid_setting', /from 1 to 512/],
    [['voices', '-e', 'tnoe'], 2, 'unknown_engine', /Did you mean "tone"/],
  ];

  it.each(cases)('%j exits with %i, %s', async (args, code, name, message) => {
    const before = files();
    const plain = await mizuoto(args);
    expect(plain.exit).toBe(code);
    // One sentence or two, one line, no stack, nothing on the standard output, nothing on disk.
    expect(plain.stderr).toMatch(/^mizuoto: [^\n]+ \([a-z_]+\)\n$/);
    expect(plain.stderr).toMatch(message);
    expect(plain.stderr).toContain(`(${name})`);
    expect(plain.stderr).not.toMatch(/\bat .*:\d+:\d+|\[object|undefined/);
    expect(plain.stdout.length).toBe(0);
    expect(files()).toEqual(before);
  });

  it('is one JSON object on the standard output where JSON was asked for', async () => {
    for (const args of [
      ['sya'],
      ['say', 'x', '-e', 'tnoe'],
      ['say', '-f', 'missing.txt'],
      ['settings', 'get', 'x.y'],
    ]) {
      const { exit, stdout, stderr } = await mizuoto([...args, '--json']);
      const { error } = JSON.parse(stdout.toString());
      expect(errorSchema.safeParse(error).success).toBe(true);
      expect(exit).toBeGreaterThan(0);
      expect(stderr).toBe('');
    }
  });

  it('speaks Chinese where the locale does', async () => {
    const { stderr } = await mizuoto(['sya'], { env: { LANG: 'zh_CN.UTF-8' } });
    expect(stderr).toBe('mizuoto: 没有“sya”这个命令。 您是不是想用“say”? (invalid_request)\n');
  });

  it('shows details of internal errors to who asks', async () => {
    const { stderr } = await say(['x', '-v', 'throw', '-o', 'a.wav', '--verbose']);
    expect(stderr).toContain('scripted failure');
  });

  it('cannot steer the terminal', async () => {
    const { stderr } = await mizuoto(['say', 'x', '--engine', '\x1b]0;owned\x07']);
    expect(stderr).not.toContain('\x1b');
  });
});

describe('no space', () => {
  it.skipIf(process.platform !== 'linux')('on a device that is full', async () => {
    const { exit, stderr } = await say(['Hello.', '--out', '/dev/full']);
    expect(exit).toBe(5);
    expect(stderr).toMatch(/disk is full.*\(disk_full\)/);
  });

  it('on a small disk: nothing is left under the name', async (context) => {
    const disk = join(folder, 'disk');
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

describe('two at once', () => {
  it('writing one file: one of them wins whole', async () => {
    const both = await Promise.all([
      say(['Short.', '--seed', '1', '--out', 'a.wav']),
      say(['A good deal longer.', '--seed', '2', '--out', 'a.wav']),
    ]);
    expect(both.map(({ exit }) => exit)).toEqual([0, 0]);
    const { seconds } = await readWav(readFileSync(join(folder, 'a.wav')));
    expect([0.3, 0.95]).toContainEqual(Math.round(seconds * 100) / 100);
    expect(files()).toEqual(['a.wav']);
  });

  it('changing settings: both changes stay', async () => {
    const changes = ['compute.threads=3', 'ui.theme=dark', 'compute.vram_limit_mb=4000', 'ui.language=zh-CN'];
    const all = await Promise.all(changes.map((change) => mizuoto(['settings', 'set', change])));
    expect(all.map(({ exit, stderr }) => `${exit}${stderr}`)).toEqual(Array(4).fill('0'));
    const { stdout } = await mizuoto(['settings', 'get', '--json']);
    expect(JSON.parse(stdout.toString())).toMatchObject({
      'compute.threads': 3,
      'ui.theme': 'dark',
      'compute.vram_limit_mb': 4000,
      'ui.language': 'zh-CN',
    });
  });
});

describe('other commands', () => {
  it.each(['engines', 'voices', 'devices', 'runtime', 'version', 'settings get', 'help exit-codes'])(
    '%s prints text, and JSON',
    async (command) => {
      const args = command.split(' ');
      const plain = await mizuoto(args);
      expect({ exit: plain.exit, stderr: plain.stderr }).toEqual({ exit: 0, stderr: '' });
      expect(plain.stdout.toString().length).toBeGreaterThan(10);
      const asJson = await mizuoto([...args, '--json']);
      expect(typeof JSON.parse(asJson.stdout.toString())).toBe('object');
      expect(asJson.stdout.toString().match(/\n/g)).toHaveLength(1);
    },
  );

  it.each([[], ['--help'], ['say', '--help'], ['help', 'settings'], ['--version']])(
    '%j helps',
    async (...args) => {
      const { exit, stdout } = await mizuoto(args);
      expect(exit).toBe(0);
      expect(stdout.toString()).toMatch(/mizuoto/);
    },
  );

  it('settings are set, shown with a mark, and reset', async () => {
    expect(
      (await mizuoto(['settings', 'set', 'compute.vram_mode=low', 'compute.device=CPU'])).stdout.toString(),
    ).toBe('compute.vram_mode = low\ncompute.device = CPU\n');
    expect((await mizuoto(['settings', 'get'])).stdout.toString()).toContain('* compute.vram_mode = low\n');
    await mizuoto(['settings', 'reset', 'compute.vram_mode']);
    expect(readFileSync(join(folder, '.home', 'settings.json'), 'utf8')).toBe(
      '{\n  "compute.device": "CPU"\n}\n',
    );
  });

  it('a damaged settings file is a warning, not an end', async () => {
    await mizuoto(['settings', 'set', 'ui.theme=dark']);
    writeFileSync(join(folder, '.home', 'settings.json'), '{');
    const { exit, stderr } = await say(['Hi.', '--out', 'a.wav']);
    expect(exit).toBe(0);
    expect(stderr).toMatch(/^mizuoto: warning: .*settings\.json could not be used/);
  });
});

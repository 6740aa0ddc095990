import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { errorSchema } from '../contract/index.ts';
import { commandLine } from './testing/command-line.ts';

const cli = commandLine();
const { mizuoto, say, files } = cli;

describe('bad input', () => {
  beforeEach(() => {
    writeFileSync(join(cli.folder, 'latin1.txt'), Buffer.from('caf\xe9 au lait', 'latin1'));
    writeFileSync(join(cli.folder, 'nul.txt'), 'a\0b');
    writeFileSync(join(cli.folder, 'surrogate.txt'), Buffer.from([0x61, 0xed, 0xa0, 0x80]));
    writeFileSync(join(cli.folder, 'long.txt'), 'x'.repeat(2_000_001));
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
    expect(stderr).toBe('mizuoto: 没有“sya”这个命令。您是不是想用“say”？ (invalid_request)\n');
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

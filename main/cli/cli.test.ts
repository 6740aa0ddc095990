import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWav } from '../audio/wav.ts';
import { commandLine } from './testing/command-line.ts';

const cli = commandLine();
const { mizuoto, say, files } = cli;

describe('two at once', () => {
  it('writing one file: one of them wins whole', async () => {
    const both = await Promise.all([
      say(['Short.', '--seed', '1', '--out', 'a.wav']),
      say(['A good deal longer.', '--seed', '2', '--out', 'a.wav']),
    ]);
    expect(both.map(({ exit }) => exit)).toEqual([0, 0]);
    const { seconds } = await readWav(readFileSync(join(cli.folder, 'a.wav')));
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
    expect(readFileSync(join(cli.folder, '.home', 'settings.json'), 'utf8')).toBe(
      '{\n  "compute.device": "CPU"\n}\n',
    );
  });

  it('a damaged settings file is a warning, not an end', async () => {
    await mizuoto(['settings', 'set', 'ui.theme=dark']);
    writeFileSync(join(cli.folder, '.home', 'settings.json'), '{');
    const { exit, stderr } = await say(['Hi.', '--out', 'a.wav']);
    expect(exit).toBe(0);
    expect(stderr).toMatch(/^mizuoto: warning: .*settings\.json could not be used/);
  });
});

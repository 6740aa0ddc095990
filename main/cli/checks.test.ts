import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { doctorReportSchema, verifyReportSchema } from '../contract/index.ts';
import { commandLine } from './testing/command-line.ts';
import type { StartOptions } from './testing/process.ts';

const cli = commandLine();
const { launch, mizuoto } = cli;

describe('mizuoto verify', () => {
  const verify = (args: string[], options: Partial<StartOptions> = {}) =>
    mizuoto(['verify', ...args], options);

  it('prints a table and succeeds where nothing differs', async () => {
    const { exit, stdout, stderr } = await verify(['--engine', 'tone']);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    const lines = stdout.toString().split('\n');
    expect(lines[0]).toMatch(/^ENGINE +RUN +DEVICE +STREAMED +RESIDENT +SECONDS +RETRIES +IDENTICAL$/);
    expect(lines[2]).toMatch(/^tone +all streamed +Simulated0 4 MiB +4\.0 MiB +0 B +0\.01 +0 +yes$/);
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
    mkdirSync(join(cli.folder, '.home'), { recursive: true });
    writeFileSync(join(cli.folder, '.home', 'settings.json'), content);
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
      /故障 {2}compute\.device 是 Vulkan7[\s\S]*最有用的做法：\n {2}1\. 让 Mizuoto/,
    );
  });
});

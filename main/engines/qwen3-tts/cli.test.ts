import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeWav } from '../../audio/wav.ts';
import { type Outcome, start } from '../../cli/testing/process.ts';
import { bundleForTest, type TestBundle } from '../../host/testing/bundle.ts';
import { artificialReference } from '../plain-task.ts';
import { tinyFolder } from './testing/engine-rig.ts';

let home = '';
let bundle: TestBundle;
beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'mizuoto-qwen3-tts-'));
  bundle = await bundleForTest(['cli', 'host-worker']);
}, 120_000);
afterAll(() => {
  bundle?.remove();
  rmSync(home, { recursive: true, force: true });
});

/** The command line with the studio's real engines. */
function mizuoto(...args: string[]): Promise<Outcome> {
  const env = { MIZUOTO_TEST_ENGINES: '' };
  return start(bundle.path('cli'), args, { cwd: home, env }).outcome;
}

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { exit, stdout, stderr } = await mizuoto(...args, '--json');
  expect(exit, stderr + String(stdout)).toBe(0);
  return JSON.parse(String(stdout)) as Record<string, unknown>;
}

it('adds folders, speaks by name, by instruction and with a cloned voice, and says what it cannot', async () => {
  // Threads that wait for each other take long where other tests run beside them.
  await json('settings', 'set', 'compute.threads=1');
  for (const kind of ['custom_voice', 'base', 'voice_design']) {
    expect(await mizuoto('models', 'add', path.join(tinyFolder, kind))).toMatchObject({ exit: 0 });
  }
  const spoken = await json(
    'say',
    '--engine',
    'qwen3-tts',
    'hello there.',
    '--voice',
    'Ryan',
    '--seed',
    '3',
    '--out',
    'a.wav',
  );
  expect(spoken).toMatchObject({
    engine: 'qwen3-tts',
    model: 'qwen3-tts:1.7b-custom-voice',
    voice: 'ryan',
    sample_rate: 24_000,
  });
  const again = await json(
    'say',
    '-e',
    'qwen3-tts',
    'hello there.',
    '-v',
    'ryan',
    '--seed',
    '3',
    '--out',
    'b.wav',
  );
  expect(again.samples).toBe(spoken.samples);
  expect(readFileSync(path.join(home, 'b.wav'))).toEqual(readFileSync(path.join(home, 'a.wav')));

  const { samples, sampleRate } = artificialReference();
  const { bytes } = encodeWav([samples.subarray(0, sampleRate)], { sampleRate });
  writeFileSync(path.join(home, 'me.wav'), bytes);
  const clone = await json(
    'say',
    '-m',
    'qwen3-tts:1.7b-base',
    '--reference',
    'me.wav',
    '--reference-text',
    'the king',
    '你好',
    '--out',
    'c.wav',
  );
  expect(clone).toMatchObject({ model: 'qwen3-tts:1.7b-base' });
  const design = await json(
    'say',
    '-m',
    'qwen3-tts:1.7b-voice-design',
    '--instruct',
    'an old king',
    'hello',
    '--set',
    'temperature=0.5',
    '--out',
    'd.wav',
  );
  expect(design).toMatchObject({ applied: { temperature: 0.5 } });

  const refused = await mizuoto('say', '-e', 'qwen3-tts', 'hello', '--voice', 'nobody', '--out', 'x.wav');
  expect(refused.exit).toBe(2);
  expect(refused.stderr).toMatch(/nobody/);
  const unspeakable = await mizuoto('say', '-e', 'qwen3-tts', '…', '--out', 'x.wav');
  expect(unspeakable.exit).toBe(3);
  const wrong = await mizuoto(
    'say',
    '-m',
    'qwen3-tts:1.7b-base',
    'x',
    '-r',
    'me.wav',
    '--reference-text',
    'word '.repeat(100),
    '-o',
    'x.wav',
  );
  expect([wrong.exit, wrong.stderr]).toEqual([3, expect.stringContaining('499 characters in 1 s')]);
}, 400_000);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeFileAtomic } from '../audio/atomic-file.ts';
import { encodeWav } from '../audio/wav.ts';
import { type Said, StudioError, say } from '../contract/index.ts';
import { parseSetting } from '../settings/resolve.ts';
import { readReferenceAudio } from '../voices/reference-audio.ts';
import { VoiceStore } from '../voices/voice-store.ts';
import { Messages } from './messages.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-reasons-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const zh = new Messages('zh-CN');

/** A sine that comes and goes, so that nothing but what a test changes is wrong with it. */
function wav(change: (view: DataView) => void = () => {}): Uint8Array {
  const samples = Float32Array.from(
    { length: 24_000 },
    (_, n) => 0.5 * Math.sin(n / 9) * Math.abs(Math.sin(n / 2000)),
  );
  const { bytes } = encodeWav([samples], { sampleRate: 24_000 });
  change(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return bytes;
}

/** The Chinese sentence of what is thrown; it may name options and commands, but holds no English sentence. */
async function refused(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof StudioError)) throw error;
    const sentence = zh.error(error);
    expect(sentence).toMatch(/\p{Script=Han}/u);
    expect(sentence).not.toMatch(/[a-z]{2,} [a-z]{2,} [a-z]{2,}/i);
    return sentence;
  }
  throw new Error('nothing was refused');
}

const read = (bytes: Uint8Array) => () => readReferenceAudio(bytes);
const text = (words: string) => new TextEncoder().encode(words);

it.each<[string, Uint8Array, RegExp]>([
  ['empty', new Uint8Array(), /空/],
  [
    'no audio',
    text('words that are no audio at all, but long enough for a header of WAV.'),
    /不是 WAV、FLAC/,
  ],
  ['a few bytes', text('abc'), /只有 3 字节/],
  ['a web page', text('<!DOCTYPE html><html>Not found</html>'), /网页/],
  ['coded', wav((view) => view.setUint16(20, 6, true)), /A-law|alaw/i],
  ['no channel', wav((view) => view.setUint16(22, 0, true)), /0 个声道/],
  ['no rate', wav((view) => view.setUint32(24, 0, true)), /采样率为 0 Hz/],
  ['no bits', wav((view) => view.setUint16(34, 0, true)), /0 位/],
  [
    'noise',
    encodeWav([Float32Array.from({ length: 24_000 }, (_, n) => ((n * 7919) % 211) / 500)], {
      sampleRate: 24_000,
    }).bytes,
    /没有人声/,
  ],
  [
    'hardly any sound',
    encodeWav([Float32Array.from({ length: 48_000 }, (_, n) => (n < 2000 ? Math.sin(n / 9) / 2 : 0))], {
      sampleRate: 24_000,
    }).bytes,
    /只有 0\.0[89] 秒有声音/,
  ],
])('reference audio: %s', async (_, bytes, why) => {
  expect(await refused(read(bytes))).toMatch(why);
});

it('what was repaired', async () => {
  const cut = await readReferenceAudio(wav().subarray(0, 40_000));
  const open = await readReferenceAudio(wav((view) => view.setUint32(40, 0xffffffff, true)));
  for (const warning of [...cut.warnings, ...open.warnings] as Said[]) {
    expect(zh.said(warning)).not.toMatch(/[a-z]{2,} [a-z]{2,} [a-z]{2,}/i);
  }
  expect(cut.warnings).toHaveLength(1);
  // What is not known in Chinese is better said in English than not at all.
  expect(zh.said(say('reference_repaired', { reason: 'Something new.' }))).toContain('Something new.');
});

it('names, files and settings', async () => {
  const store = new VoiceStore(folder, () => {});
  const add = (name: string) => () => store.add({ name, audio: wav(), text: null, language: null });
  for (const [name, why] of [
    ['', /空/],
    ['a\x07', /无法显示/],
    ['x'.repeat(100), /超过 80/],
    ['saved:me', /saved:/],
  ] as const) {
    expect(await refused(add(name))).toMatch(why);
  }
  expect(await refused(() => writeFileAtomic(join(folder, 'none', 'a.wav'), wav()))).toMatch(/文件夹不存在/);
  expect(await refused(() => writeFileAtomic(folder, wav()))).toMatch(/是文件夹/);
  expect(await refused(() => parseSetting('compute.simulate_vram_mb', 0))).toContain('大于 0 的数字');
  expect(await refused(() => parseSetting('compute.threads', 0))).toContain('1 到 512 的整数');
});

it('requests: what is needed, what a parameter takes, who owns a model', () => {
  const said = (code: StudioError['code'], params: StudioError['params']) =>
    zh.error(new StudioError(code, 'English.', { params }));
  expect(said('invalid_request', { model: 'm', needs: 'reference' })).toContain('--reference');
  expect(said('invalid_request', { model: 'm', needs: 'instruct' })).toContain('对音色的描述');
  expect(said('invalid_request', { field: 'top_k', value: '1.5', expected: 'a whole number' })).toContain(
    '可以是：整数',
  );
  const reason = 'it is not the engine of a:b';
  expect(said('invalid_request', { call: 'speak', field: 'engine', reason })).toContain('“a:b”不属于');
  const long = 'too big: expected string to have <=10000 characters';
  expect(said('invalid_request', { call: 'speak', field: 'instruct', reason: long })).toContain(
    '超过 10000 个字符',
  );
  expect(said('unknown_voice', { engine: 'm', clones: 'm', voice: 'x', known: '-' })).toContain('voices add');
  expect(said('text_not_speakable', { script: 'symbols' })).toContain('既没有文字也没有数字');
  expect(said('text_not_speakable', { script: 'Chinese' })).toContain('文字：中文');
  expect(said('text_malformed', { kind: 'lone surrogate', position: 1 })).toContain('残缺');
  expect(said('text_too_long', { limit: 9, field: 'instruct' })).toContain('--instruct');
  expect(said('text_too_long', { limit: 9, field: 'transcript' })).toContain('逐字文本');
  expect(said('model_not_recognised', { path: 'p', changed: 'a:b' })).toContain('已不是模型“a:b”');
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSettings, type SavedVoice, StudioError, speakRequestSchema } from '../contract/index.ts';
import type { Reference } from '../engines/engine.ts';
import { resolveVoiceLanguage } from './speech-language.ts';
import { resolveSpeech, type SpeechWorld } from './speech-request.ts';
import { ToneBackend } from './testing/tone-engine.ts';

const savedVoice = (name: string, change: Partial<SavedVoice> = {}): SavedVoice => ({
  id: name.toLowerCase(),
  name,
  language: null,
  text: null,
  seconds: 5,
  sample_rate: 24_000,
  created_at: 1,
  warnings: [],
  ...change,
});

const reference = (change: Partial<Reference>): Reference => ({
  samples: new Float32Array(8),
  sampleRate: 24_000,
  text: null,
  hash: 'h',
  voice: null,
  ...change,
});

const world = (change: Partial<SpeechWorld> = {}): SpeechWorld => ({
  engines: new ToneBackend().engines(),
  voices: [savedVoice('Anna', { text: 'Her words.', language: 'pt-BR' }), savedVoice('Tone')],
  catalog: [{ id: 'qwen3-tts:0.6b-base', engine: 'qwen3-tts', repository: 'Qwen/Base', modes: ['clone'] }],
  damaged: [],
  settings: defaultSettings(),
  references: {
    read: async (_, text) => ({ reference: reference({ text }), warnings: [] }),
    saved: async ({ id, text }) => ({ reference: reference({ text, voice: id }), warnings: [] }),
  },
  ...change,
});

const resolve = (request: object, change: Partial<SpeechWorld> = {}) =>
  resolveSpeech(speakRequestSchema.parse({ text: 'Hello.', ...request }), world(change));
const audio = new Uint8Array(4);

describe('who speaks', () => {
  it.each<[object, object]>([
    [{}, { engine: 'tone', model: 'tone', voice: 'tone', language: 'en', reference: null }],
    [{ engine: 'echo' }, { model: 'echo:speakers', voice: 'tone', language: 'auto', instruct: null }],
    [
      { model: 'echo:speakers', voice: 'BRIEF' },
      { engine: 'echo', voice: 'brief' },
    ],
    [
      { engine: 'echo', voice: 'brief', instruct: ' softly ' },
      { model: 'echo:speakers', instruct: 'softly' },
    ],
    // An instruction says how a voice speaks where one can follow it.
    [
      { engine: 'echo', instruct: 'Sadly.' },
      { model: 'echo:speakers', voice: 'tone', instruct: 'Sadly.' },
    ],
    [
      { model: 'echo:design', instruct: 'An old man.' },
      { voice: '', instruct: 'An old man.' },
    ],
    // Nothing but the wish says which engine it takes.
    [{ voice: 'Anna' }, { engine: 'echo', model: 'echo:clone', reference: { voice: 'anna' } }],
    [{ reference: { audio } }, { engine: 'echo', model: 'echo:clone' }],
    [{ instruct: 'Sadly.' }, { engine: 'echo', model: 'echo:speakers' }],
    [{ language: 'zh' }, { engine: 'echo', model: 'echo:speakers', language: 'zh' }],
    [{ language: 'en' }, { engine: 'tone' }],
    [
      { voice: 'brief', language: 'zh' },
      { engine: 'echo', voice: 'brief', language: 'zh' },
    ],
    [
      { engine: 'echo', reference: { audio } },
      { model: 'echo:clone', voice: '', reference: { text: null } },
    ],
    [
      { engine: 'echo', reference: { audio, text: ' Words. ' } },
      { model: 'echo:clone', reference: { text: 'Words.', voice: null } },
    ],
    [
      { engine: 'echo', voice: 'anna' },
      { model: 'echo:clone', reference: { voice: 'anna', text: 'Her words.' } },
    ],
    [{ model: 'echo:transcript', voice: 'Anna' }, { reference: { voice: 'anna' } }],
    // A speaker comes before a saved voice of the same name; `saved:` says which.
    [
      { engine: 'echo', voice: 'tone' },
      { model: 'echo:speakers', voice: 'tone', reference: null },
    ],
    [
      { engine: 'echo', voice: 'saved:tone' },
      { model: 'echo:clone', voice: '', reference: { voice: 'tone' } },
    ],
  ])('%j', async (request, task) => {
    expect(await resolve(request)).toMatchObject(task);
  });

  it.each<[object, string, RegExp]>([
    [{ engine: 'ecko' }, 'unknown_engine', /Did you mean "echo"/],
    [{ model: 'echo:speaker' }, 'unknown_model', /Did you mean "echo:speakers"/],
    [{ model: 'x' }, 'unknown_model', /There is: tone, hum, echo:speakers/],
    [{ model: 'echo:clone', engine: 'tone' }, 'invalid_request', /belongs to the engine "echo"/],
    [{ model: 'qwen3-tts:0.6b-base' }, 'model_not_installed', /Qwen\/Base/],
    [{ engine: 'qwen3-tts' }, 'model_not_installed', /mizuoto models add/],
    [
      { engine: 'tone', voice: 'Anna' },
      'not_supported',
      /"tone" cannot speak in the saved voice "Anna": it speaks with its own speakers only, .* These can: echo:clone, echo:transcript/,
    ],
    [
      { model: 'echo:design', voice: 'Anna' },
      'not_supported',
      /with voices made from words \(--instruct\) only, and a saved voice has to be cloned/,
    ],
    [{ engine: 'hum', reference: { audio } }, 'not_supported', /cannot clone/],
    // Of a model that does not clone, saved voices are none.
    [{ model: 'echo:speakers', voice: 'nobody' }, 'unknown_voice', /There is: tone, brief\.$/],
    [{ model: 'echo:clone', voice: 'nobody' }, 'unknown_voice', /There is: Anna, Tone\.$/],
    [{ model: 'echo:design', voice: 'nobody' }, 'unknown_voice', /no voices by name: describe the voice/],
    [{ voice: 'nobody' }, 'unknown_voice', /No installed model has a voice named "nobody"/],
    [{ model: 'echo:clone', voice: 'brief' }, 'unknown_voice', /The model "echo:clone" has no voice/],
    [{ model: 'echo:speakers', reference: { audio } }, 'not_supported', /cannot clone/],
    [{ model: 'echo:design', voice: 'brief' }, 'unknown_voice', /no voice named "brief"/],
    [{ engine: 'echo', voice: 'Ann' }, 'unknown_voice', /Did you mean "Anna"/],
    [{ engine: 'echo', voice: 'saved:nobody' }, 'unknown_voice', /nobody/],
    [{ engine: 'echo', voice: 'anna', reference: { audio } }, 'invalid_request', /Leave one of them out/],
    [{ model: 'echo:clone' }, 'invalid_request', /needs a voice to clone/],
    [{ model: 'echo:design' }, 'invalid_request', /needs a description/],
    [{ model: 'echo:design', instruct: ' ' }, 'invalid_request', /needs a description/],
    [{ model: 'echo:transcript', reference: { audio } }, 'invalid_request', /needs the words/],
    [{ model: 'echo:transcript', voice: 'saved:tone' }, 'invalid_request', /needs the words/],
    [
      { engine: 'tone', instruct: 'softly' },
      'not_supported',
      /cannot follow an instruction. These can: echo:speakers, echo:design/,
    ],
    [{ model: 'echo:design', instruct: 'x'.repeat(101) }, 'text_too_long', /101 characters; .* at most 100/],
    [{ model: 'echo:design', instruct: 'a\0' }, 'text_malformed', /NUL/],
    [{ model: 'echo:clone', reference: { audio, text: 'a\ud800' } }, 'text_malformed', /lone surrogate/],
    [{ engine: 'echo', text: 'x'.repeat(5001) }, 'text_too_long', /at most 5000/],
  ])('%j is refused', async (request, code, message) => {
    await expect(resolve(request)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('a damaged model says what it lacks', async () => {
    const error = new StudioError('checkpoint_missing', 'vocab.json is missing.');
    const damaged = [{ id: 'qwen3-tts:0.6b-base', engine: 'qwen3-tts', error }];
    await expect(resolve({ model: 'qwen3-tts:0.6b-base' }, { damaged })).rejects.toBe(error);
    await expect(resolve({ engine: 'qwen3-tts' }, { damaged })).rejects.toBe(error);
  });
});

it('a saved voice where nothing clones: models that could be installed', async () => {
  const engines = new ToneBackend().engines().filter(({ id }) => id === 'tone');
  await expect(resolve({ voice: 'Anna' }, { engines })).rejects.toMatchObject({
    code: 'not_supported',
    params: { installable: 'qwen3-tts:0.6b-base', voice: 'Anna', speakers: expect.stringContaining('tone') },
  });
});

describe('the language', () => {
  it('of a saved voice, where the model never learned it, is told with the result', async () => {
    const voices = [savedVoice('Mali', { language: 'th' }), savedVoice('Li', { language: 'zh-TW' })];
    const { warnings } = await resolve({ model: 'echo:clone', voice: 'Mali' }, { voices });
    expect(warnings).toMatchObject([
      { code: 'voice_language', params: { voice: 'Mali', language: 'th', model: 'echo:clone' } },
    ]);
    expect(await resolve({ model: 'echo:clone', voice: 'Li' }, { voices })).toMatchObject({ warnings: [] });
  });

  it.each([
    ['zh_cn', 'zh-CN'],
    ['ZH', 'zh'],
    ['Chinese', 'zh'],
    ['中文', 'zh'],
    ['en-GB', 'en-GB'],
    ['Portuguese', 'pt'],
    [' ', null],
    [null, null],
  ])('%j of a voice is kept as %j', (asked, kept) => {
    expect(resolveVoiceLanguage(asked, ['zh', 'en', 'pt'])).toBe(kept);
  });

  it('of a voice is the language itself where models know it with a region as well', () => {
    expect(resolveVoiceLanguage('English', ['en-US', 'zh', 'en'])).toBe('en');
    expect(resolveVoiceLanguage('en-us', ['en-US', 'zh', 'en'])).toBe('en-US');
    expect(() => resolveVoiceLanguage('xx', ['en-US', 'zh', 'en'])).toThrow(
      /Known are: zh \(Chinese\), en \(English\)/,
    );
  });

  it.each(['klingon', 'tlh', 'xx', 'not a tag', '中国的话', 'x'.repeat(100)])(
    '%j of a voice is refused with the known ones',
    (asked) => {
      expect(() => resolveVoiceLanguage(asked, ['zh', 'en'])).toThrow(
        expect.objectContaining({
          code: 'unknown_language',
          params: expect.objectContaining({ known: 'zh, en' }),
          message: expect.stringContaining('zh (Chinese), en (English)'),
        }),
      );
    },
  );

  it.each([
    ['auto', 'auto'],
    ['AUTO', 'auto'],
    ['zh', 'zh'],
    ['zh-CN', 'zh'],
    ['zh_Hans_CN', 'zh'],
    ['zh-Sichuan', 'zh-sichuan'],
    ['en-GB', 'en'],
    ['Chinese', 'zh'],
    ['中文', 'zh'],
    ['portuguese', 'pt'],
    ['Português', 'pt'],
  ])('%j is %j', async (language, tag) => {
    expect(await resolve({ engine: 'echo', language })).toMatchObject({ language: tag });
  });

  it.each(['xx', 'Klingon', '', 'z', 'a-'.repeat(30), '中国的话'])(
    '%j is refused with the known ones',
    async (language) => {
      await expect(resolve({ engine: 'echo', language })).rejects.toMatchObject({
        code: 'unknown_language',
        params: { known: 'zh, en, pt, zh-sichuan, auto' },
      });
    },
  );

  it('is that of the voice where the model does not find it itself', async () => {
    expect(await resolve({})).toMatchObject({ language: 'en' });
    await expect(resolve({ engine: 'tone', language: 'zh' })).rejects.toThrow(/It speaks: en\./);
  });
});

describe('parameters', () => {
  it('are the engine’s defaults, and what was asked for', async () => {
    const defaults = { temperature: 0.9, top_k: 50, greedy: false, layout: 'streaming' };
    expect(await resolve({ engine: 'echo' })).toMatchObject({ parameters: defaults });
    expect((await resolve({})).parameters).toEqual({});
    const asked = { temperature: 0, top_k: 3072, greedy: true, layout: 'whole' };
    expect((await resolve({ engine: 'echo', parameters: asked })).parameters).toEqual(asked);
  });

  it.each<[object, RegExp]>([
    [
      { temprature: 1 },
      /no parameter "temprature".* Did you mean "temperature"\? It has: temperature, top_k, greedy, layout/,
    ],
    [{ seed: 7 }, /"seed" stands beside the parameters/],
    [{ temperature: 2.1 }, /temperature of 2.1 .* from 0 to 2/],
    [{ temperature: '0.5' }, /takes a number/],
    [{ top_k: 1.5 }, /a whole number/],
    [{ top_k: 0 }, /from 1 to 3072/],
    [{ greedy: 1 }, /true, false/],
    [{ layout: 'other' }, /streaming, whole/],
    [{ layout: true }, /streaming, whole/],
    [{ constructor: 1 }, /no parameter/],
  ])('%j are refused', async (parameters, message) => {
    await expect(resolve({ engine: 'echo', parameters })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(message),
    });
  });

  it('of an engine that has none are all refused', async () => {
    await expect(resolve({ parameters: { temperature: 1 } })).rejects.toThrow(/It has none of its own/);
  });
});

it('any request is a task that the model can do, or one of the contract’s errors', async () => {
  const word = fc.constantFrom('tone', 'anna', 'saved:anna', 'Anna', 'brief', 'nobody', '');
  const request = fc.record(
    {
      engine: fc.constantFrom('tone', 'hum', 'echo', 'qwen3-tts', 'none'),
      model: fc.constantFrom('tone', 'echo:speakers', 'echo:clone', 'echo:transcript', 'echo:design', 'none'),
      voice: word,
      language: fc.oneof(fc.constantFrom('auto', 'zh', 'en', 'de', 'Chinese'), fc.string({ maxLength: 8 })),
      instruct: fc.string({ maxLength: 120 }),
      reference: fc.record(
        { audio: fc.constant(audio), text: fc.string({ maxLength: 5 }) },
        { requiredKeys: ['audio'] },
      ),
      parameters: fc.dictionary(
        fc.constantFrom('temperature', 'top_k', 'greedy', 'layout', 'x'),
        fc.oneof(
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
          fc.string({ maxLength: 10 }),
        ),
        { maxKeys: 2 },
      ),
    },
    { requiredKeys: [] },
  );
  const engines = new ToneBackend().engines();
  await fc.assert(
    fc.asyncProperty(request, async (asked) => {
      const task = await resolve(asked).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StudioError);
        expect((error as StudioError).code).not.toBe('internal');
        return null;
      });
      if (task === null) return;
      const model = engines.flatMap(({ models }) => models).find(({ id }) => id === task.model)!;
      expect(task.model.split(':')[0]).toBe(task.engine);
      expect([...model.languages, ...(model.auto_language ? ['auto'] : [])]).toContain(task.language);
      if (task.voice !== '') expect(model.speakers.map(({ id }) => id)).toContain(task.voice);
      if (task.reference) expect(model.modes).toContain('clone');
      if (task.voice === '' && !task.reference) expect(model.modes).toContain('design');
      if (model.instruct === 'none') expect(task.instruct).toBeNull();
      if (model.instruct === 'required') expect(task.instruct).toMatch(/\S/);
    }),
    { numRuns: 500 },
  );
});

import { describe, expect, it } from 'vitest';
import { maxTextLength } from '../../../main/contract/speech.ts';
import { fakeEngine, fakeJob, fakeQwen, fakeResult, fakeSavedVoice } from '../bridge/fake-data.ts';
import { settle } from '../testing/fake-timers.ts';
import { testStudio } from '../testing/studio.ts';
import { chooseModel, draftRequest, editDraft, generate, restoreSettings, setParameter } from './commands.ts';
import { changedParameters, selectModel, selectTextLanguage } from './engines.ts';
import { planGenerate } from './estimate.ts';

const [custom, design, base] = fakeQwen.models.map(({ id }) => id) as [string, string, string];

async function qwenStudio(saved = [fakeSavedVoice()]) {
  const test = await testStudio();
  const { studio } = test;
  studio.store.setState({ engines: [fakeEngine, fakeQwen], savedVoices: saved });
  editDraft(studio, { text: 'Hello.' });
  const state = () => studio.store.getState();
  return {
    ...test,
    state,
    request: () => draftRequest(state()),
    plan: () => planGenerate(state(), maxTextLength),
  };
}

describe('a request to an engine of several models', () => {
  it('says which model, who, in which language, how, and what is not the default', async () => {
    const { studio, request } = await qwenStudio();
    chooseModel(studio, 'qwen3-tts', null);
    expect(request()).toEqual({
      text: 'Hello.',
      engine: 'qwen3-tts',
      model: custom,
      voice: 'vivian',
      source: 'app',
    });
    editDraft(studio, { voice: 'ryan', language: 'en', instruct: '  Softly. ' });
    setParameter(studio, 'temperature', 0.7);
    setParameter(studio, 'top_k', 20);
    setParameter(studio, 'own_knob', true);
    setParameter(studio, 'top_k', 50);
    expect(request()).toEqual({
      text: 'Hello.',
      engine: 'qwen3-tts',
      model: custom,
      voice: 'ryan',
      language: 'en',
      instruct: 'Softly.',
      parameters: { temperature: 0.7, own_knob: true },
      source: 'app',
    });
  });

  it('names a saved voice so that no speaker is meant', async () => {
    const { studio, request } = await qwenStudio([
      fakeSavedVoice(),
      fakeSavedVoice({ id: 'ryan', name: 'Ryan' }),
    ]);
    chooseModel(studio, 'qwen3-tts', base);
    expect(request()).toMatchObject({ model: base, voice: 'saved:me' });
    editDraft(studio, { voice: 'saved:ryan' });
    expect(request()).toMatchObject({ voice: 'saved:ryan' });
    // A model that does not clone never gets it.
    chooseModel(studio, 'qwen3-tts', custom);
    expect(request()).toMatchObject({ voice: 'vivian' });
  });

  it('tells what another engine does not take, until the next is chosen', async () => {
    const { studio, state } = await qwenStudio();
    editDraft(studio, { speed: 1.5 });
    chooseModel(studio, 'qwen3-tts', custom);
    expect(state().dropped).toEqual(['speed']);
    // Another model of the same engine takes no more and no less.
    chooseModel(studio, 'qwen3-tts', base);
    expect(state().dropped).toEqual(['speed']);
    chooseModel(studio, 'mini', null);
    expect(state().dropped).toEqual([]);
  });

  it('keeps what the next model has as well, and drops the rest', async () => {
    const { studio, state, request } = await qwenStudio();
    chooseModel(studio, 'qwen3-tts', custom);
    editDraft(studio, { voice: 'ryan', language: 'en', instruct: 'Softly.', speed: 1.5 });
    setParameter(studio, 'temperature', 0.7);
    chooseModel(studio, 'qwen3-tts', base);
    expect(state().draft).toMatchObject({ voice: null, language: 'auto', parameters: { temperature: 0.7 } });
    expect(state().dropped).toEqual([]);
    expect(request()).not.toHaveProperty('instruct');
    editDraft(studio, { language: 'ja' });
    chooseModel(studio, 'qwen3-tts', design);
    expect(request()).toEqual({
      text: 'Hello.',
      engine: 'qwen3-tts',
      model: design,
      language: 'ja',
      parameters: { temperature: 0.7 },
      source: 'app',
    });
    chooseModel(studio, 'mini', null);
    expect(state().draft).toMatchObject({ model: null, language: 'auto', parameters: {}, speed: 1.5 });
    expect(state().dropped).toEqual(['temperature']);
    expect(request()).toEqual({
      text: 'Hello.',
      engine: 'mini',
      voice: 'slt',
      speed: 1.5,
      pitch: 1,
      source: 'app',
    });
  });
});

describe('what the Generate button waits for', () => {
  it('is a description where a voice is designed, within its limit', async () => {
    const { studio, plan, request, host } = await qwenStudio();
    chooseModel(studio, 'qwen3-tts', design);
    editDraft(studio, { instruct: 'Softly.', description: '  ' });
    expect(plan()).toEqual({ kind: 'no_description' });
    const asked = host.asked.length;
    await generate(studio);
    expect(host.asked).toHaveLength(asked);
    editDraft(studio, { description: 'x'.repeat(61) });
    expect(plan()).toEqual({ kind: 'instruct_too_long' });
    editDraft(studio, { description: `${'x'.repeat(60)}  ` });
    expect(plan()).toEqual({ kind: 'load_then_generate', bytes: fakeQwen.models[1]!.size_bytes });
    expect(request()).toMatchObject({ model: design, instruct: 'x'.repeat(60) });
    editDraft(studio, { text: 'y'.repeat(2001) });
    expect(plan()).toEqual({ kind: 'too_long', characters: 2001, maximum: 2000 });
  });

  it('is a voice to clone', async () => {
    const { studio, plan, host } = await qwenStudio([]);
    chooseModel(studio, 'qwen3-tts', base);
    expect(plan()).toEqual({ kind: 'no_voice' });
    host.emit('voices.changed', { voices: [fakeSavedVoice()] });
    expect(plan().kind).toBe('load_then_generate');
  });
});

it('models that come while the window is open are there', async () => {
  const { host, state } = await qwenStudio();
  host.answers['engines.list'] = () => ({ engines: [fakeQwen] });
  host.emit('models.changed', { models: [] });
  await settle();
  expect(state().engines).toEqual([fakeQwen]);
  expect(selectModel(state())?.id).toBe(custom);
});

it('settings of a result come back: model, voice, language, words and parameters', async () => {
  const { studio, host, state, request } = await qwenStudio();
  chooseModel(studio, 'qwen3-tts', base);
  editDraft(studio, { language: 'ja' });
  setParameter(studio, 'temperature', 0.5);
  const clone = request();
  await generate(studio);
  host.emit('job.queued', fakeJob({ job_id: 'job-1', engine: 'qwen3-tts', model: base, voice: 'me' }));
  host.emit('job.finished', { job_id: 'job-1', result: fakeResult({ voice: 'me', seed: 4 }) });
  chooseModel(studio, 'qwen3-tts', design);
  editDraft(studio, { description: 'An old king.' });
  await generate(studio);
  host.emit('job.queued', fakeJob({ job_id: 'job-2', engine: 'qwen3-tts', model: design, voice: '' }));
  chooseModel(studio, 'mini', null);
  editDraft(studio, { description: '' });

  restoreSettings(studio, 'job-1');
  expect(request()).toEqual({ ...clone, seed: 4 });
  restoreSettings(studio, 'job-2');
  expect(request()).toMatchObject({ model: design, instruct: 'An old king.' });

  // Of another program only what the result says is known.
  const applied = { language: 'zh', temperature: 0.3, top_k: 50, speed: 1, unknown: 7 };
  const other = { job_id: 'cli', engine: 'qwen3-tts', model: custom, source: 'cli' as const };
  host.emit('job.queued', fakeJob({ ...other, voice: 'ryan' }));
  host.emit('job.finished', { job_id: 'cli', result: fakeResult({ voice: 'ryan', applied }) });
  restoreSettings(studio, 'cli');
  expect(state().draft).toMatchObject({
    model: custom,
    voice: 'ryan',
    language: 'zh',
    parameters: { temperature: 0.3 },
  });
});

it('values that the engine does not take are left out', () => {
  expect(
    changedParameters(fakeQwen, {
      temperature: 3,
      top_k: 1.5,
      prompt_layout: 'sideways',
      own_knob: 'yes',
      own_limit: 12,
      seed: 5,
      constructor: 'x',
    }),
  ).toEqual({ own_limit: 12 });
  expect(changedParameters(undefined, { temperature: 1 })).toEqual({});
});

it('the language of the text is told only where it is known', async () => {
  const { studio, state } = await qwenStudio();
  expect(selectTextLanguage(state())).toBe('en-US');
  chooseModel(studio, 'qwen3-tts', custom);
  expect(selectTextLanguage(state())).toBeUndefined();
  editDraft(studio, { language: 'zh' });
  expect(selectTextLanguage(state())).toBe('zh');
});

it('a kept draft comes back whole', async () => {
  const { studio, storage } = await qwenStudio();
  chooseModel(studio, 'qwen3-tts', custom);
  editDraft(studio, { voice: 'ryan', language: 'en', instruct: 'Softly.', description: 'An old king.' });
  setParameter(studio, 'temperature', 0.7);
  const { draft } = studio.store.getState();
  studio.parts.keeper.keepDraft(draft);
  expect(studio.parts.keeper.draft()).toEqual(draft);
  storage.set('mizuoto.draft', JSON.stringify({ ...draft, parameters: { a: [], b: 1 }, language: 4 }));
  expect(studio.parts.keeper.draft()).toMatchObject({ parameters: { b: 1 }, language: 'auto' });
});

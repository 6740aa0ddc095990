import { describe, expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import { maxTextLength } from '../../../main/contract/speech.ts';
import { fakeEngine, fakeJob, fakeResult, fakeSnapshot, wholly } from '../bridge/fake-data.ts';
import { settle } from '../testing/fake-timers.ts';
import { testStudio } from '../testing/studio.ts';
import {
  changeSetting,
  draftRequest,
  editDraft,
  generate,
  loadModel,
  pinModel,
  restoreSettings,
  rollSeed,
  saveJob,
  undoRestore,
  unloadModel,
} from './commands.ts';
import { emptyDraft, maxSeed } from './draft.ts';
import { estimate, planGenerate } from './estimate.ts';
import { suggestedName } from './file-name.ts';
import { keepDraft } from './keep-draft.ts';
import { measureText } from './text-metrics.ts';

describe('what the Generate button will do', () => {
  it('is told by the state of the host', async () => {
    const { studio, host } = await testStudio();
    const plan = () => planGenerate(studio.store.getState(), maxTextLength);
    expect(plan()).toEqual({ kind: 'no_text' });
    editDraft(studio, { text: ' \n ' });
    expect(plan()).toEqual({ kind: 'no_text' });
    editDraft(studio, { text: 'Hello.' });
    expect(plan()).toEqual({ kind: 'load_then_generate', bytes: fakeEngine.size_bytes });
    host.emit('runtime.changed', fakeSnapshot({ models: [wholly()] }));
    expect(plan()).toEqual({ kind: 'generate' });
    host.emit('job.queued', fakeJob());
    host.emit('job.queued', fakeJob({ job_id: 'job-2' }));
    expect(plan()).toEqual({ kind: 'queue', ahead: 2 });
    editDraft(studio, { text: 'x'.repeat(maxTextLength + 1) });
    expect(plan()).toEqual({
      kind: 'too_long',
      characters: maxTextLength + 1,
      maximum: maxTextLength,
    });
    studio.store.setState({
      connection: { status: 'lost', error: new StudioError('internal', '').toBody() },
    });
    expect(plan()).toEqual({ kind: 'offline' });
  });

  it('asks nothing of the host when it would do nothing', async () => {
    const { studio, host } = await testStudio();
    const before = host.asked.length;
    await generate(studio);
    expect(host.asked).toHaveLength(before);
  });
});

describe('requests', () => {
  it('carry the draft, and only what the engine has', async () => {
    const { studio, host } = await testStudio();
    editDraft(studio, { text: 'Hello.', speed: 1.25, pitch: 0.9, voice: 'slt-low' });
    expect(draftRequest(studio.store.getState())).toEqual({
      text: 'Hello.',
      engine: 'mini',
      voice: 'slt-low',
      speed: 1.25,
      pitch: 0.9,
      source: 'app',
    });
    editDraft(studio, { seed: 0 });
    studio.store.setState({ engines: [{ ...fakeEngine, parameters: [{ key: 'seed', default: null }] }] });
    expect(draftRequest(studio.store.getState())).toEqual({
      text: 'Hello.',
      engine: 'mini',
      voice: 'slt-low',
      seed: 0,
      source: 'app',
    });
    await generate(studio);
    expect(host.asked.at(-1)).toMatchObject({ name: 'speak', request: { seed: 0 } });
    const slow = { key: 'speed' as const, minimum: 0.5, maximum: 1.1, default: 1 };
    studio.store.setState({ engines: [{ ...fakeEngine, parameters: [slow] }] });
    expect(draftRequest(studio.store.getState())).toMatchObject({ speed: 1.1 });
  });

  it('fall back to a voice that exists', async () => {
    const { studio } = await testStudio();
    editDraft(studio, { text: 'Hello.', engine: 'gone', voice: 'gone' });
    expect(draftRequest(studio.store.getState())).toMatchObject({ engine: 'mini', voice: 'slt' });
  });

  it('that are refused say why, until the next one', async () => {
    const { studio, host } = await testStudio();
    const speak = host.answers.speak!;
    host.answers.speak = () => {
      // As it crosses the shell: a plain object.
      throw {
        code: 'text_malformed',
        message: 'A broken character.',
        params: { position: 7 },
        retryable: false,
      };
    };
    editDraft(studio, { text: 'Hello.' });
    await generate(studio);
    expect(studio.store.getState().requestError).toEqual({
      code: 'text_malformed',
      message: 'A broken character.',
      params: { position: 7 },
      retryable: false,
    });
    host.answers.speak = speak;
    await generate(studio);
    expect(studio.store.getState().requestError).toBeNull();
  });

  it('roll seeds over the whole range', async () => {
    const { studio } = await testStudio();
    const seeds = Array.from({ length: 200 }, () => {
      rollSeed(studio);
      return studio.store.getState().draft.seed!;
    });
    expect(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed <= maxSeed)).toBe(true);
    expect(Math.max(...seeds)).toBeGreaterThan(maxSeed / 2);
    expect(new Set(seeds).size).toBeGreaterThan(190);
  });
});

describe('using settings again', () => {
  it('brings back text, voice, factors and the seed that was used', async () => {
    const { studio, host } = await testStudio();
    editDraft(studio, { text: 'First.', speed: 1.5 });
    await generate(studio);
    host.emit('job.finished', { job_id: 'job-1', result: fakeResult({ seed: 99, voice: 'slt-low' }) });
    editDraft(studio, { text: 'Something else', speed: 1, voice: 'slt' });
    restoreSettings(studio, 'job-1');
    expect(studio.store.getState().draft).toMatchObject({
      text: 'First.',
      speed: 1.5,
      voice: 'slt-low',
      seed: 99,
    });
  });

  it('offers back what it replaced', async () => {
    const { studio, host } = await testStudio();
    editDraft(studio, { text: 'First.' });
    await generate(studio);
    host.emit('job.finished', { job_id: 'job-1', result: fakeResult() });
    restoreSettings(studio, 'job-1');
    // The same text: nothing was lost.
    expect(studio.store.getState().notices).toEqual([]);
    editDraft(studio, { text: 'A long night of writing', speed: 0.8 });
    restoreSettings(studio, 'job-1');
    const [entry] = studio.store.getState().notices;
    if (entry?.notice.kind !== 'restored') throw new Error('There is no way back.');
    undoRestore(studio, entry.id, entry.notice.before);
    expect(studio.store.getState().draft).toMatchObject({ text: 'A long night of writing', speed: 0.8 });
    expect(studio.store.getState().notices).toEqual([]);
  });

  it('keeps the text where that of another program is not known', async () => {
    const { studio, host } = await testStudio();
    editDraft(studio, { text: 'Mine.' });
    host.emit('job.queued', fakeJob({ source: 'cli' }));
    host.emit('job.finished', {
      job_id: 'job-1',
      result: fakeResult({ seed: 5, applied: { speed: 0.75, pitch: 'odd' } }),
    });
    restoreSettings(studio, 'job-1');
    expect(studio.store.getState().draft).toMatchObject({ text: 'Mine.', speed: 0.75, pitch: 1, seed: 5 });
  });
});

describe('estimates', () => {
  it('learn the pace of the voice and the speed of the machine from results', async () => {
    const { studio, host } = await testStudio();
    const text = 'A sentence that is long enough to judge the pace of a voice by.';
    const metrics = measureText(text);
    expect(estimate(studio.store.getState(), metrics)).toEqual({
      speechSeconds: metrics.seconds,
      computeSeconds: null,
    });
    editDraft(studio, { text, speed: 2 });
    await generate(studio);
    host.emit('job.finished', {
      job_id: 'job-1',
      result: fakeResult({ seconds: metrics.seconds, rtf: 0.5, voice: 'slt' }),
    });
    // At double speed it took as long as the rule of thumb says for single speed: this voice is half as fast.
    const { speechSeconds, computeSeconds } = estimate(studio.store.getState(), metrics);
    expect(speechSeconds).toBeCloseTo(metrics.seconds, 6);
    expect(computeSeconds).toBeCloseTo(metrics.seconds / 2, 6);
    editDraft(studio, { speed: 1 });
    expect(estimate(studio.store.getState(), metrics).speechSeconds).toBeCloseTo(2 * metrics.seconds, 6);
  });
});

describe('models', () => {
  it('load, pin and unload, and keep what the unload gave back', async () => {
    const { studio, host } = await testStudio();
    host.answers['models.load'] = () => fakeSnapshot({ models: [wholly()] });
    host.answers['models.pin'] = ({ pinned }) => fakeSnapshot({ models: [{ ...wholly(), pinned }] });
    host.answers['models.unload'] = () => ({ freed_bytes: 4321 });
    await loadModel(studio, 'mini');
    expect(studio.store.getState().runtime?.models).toHaveLength(1);
    await pinModel(studio, 'mini', true);
    expect(studio.store.getState().runtime?.models[0]?.pinned).toBe(true);
    await unloadModel(studio, 'mini', 'Mizuoto mini');
    host.emit('runtime.changed', fakeSnapshot());
    expect(studio.store.getState().modelFreed).toEqual({ mini: 4321 });
    expect(studio.store.getState().notices.at(-1)?.notice).toEqual({
      kind: 'freed',
      model: 'Mizuoto mini',
      bytes: 4321,
    });
    host.emit('runtime.changed', fakeSnapshot({ models: [wholly()] }));
    expect(studio.store.getState().modelFreed).toEqual({});
  });

  it('are not asked twice at once, and say why it failed', async () => {
    const { studio, host } = await testStudio();
    let asked = 0;
    host.answers['models.load'] = async () => {
      asked++;
      await settle();
      throw new StudioError('out_of_device_memory', 'Too big.', { params: { needed: 100, available: 50 } });
    };
    await Promise.all([loadModel(studio, 'mini'), loadModel(studio, 'mini')]);
    expect(asked).toBe(1);
    expect(studio.store.getState().modelBusy).toEqual({});
    expect(studio.store.getState().modelError.mini?.code).toBe('out_of_device_memory');
  });
});

describe('settings', () => {
  it('show at once and go back when the host refuses', async () => {
    const { studio, host } = await testStudio();
    const answered = changeSetting(studio, { 'ui.theme': 'dark' });
    expect(studio.store.getState().settings?.['ui.theme']).toBe('dark');
    await answered;
    expect(host.asked.at(-1)).toEqual({ name: 'settings.set', request: { patch: { 'ui.theme': 'dark' } } });
    host.answers['settings.set'] = () => {
      throw new StudioError('disk_full', 'Full.');
    };
    await changeSetting(studio, { 'ui.theme': 'light' });
    expect(studio.store.getState().settings?.['ui.theme']).toBe('dark');
    expect(studio.store.getState().notices.at(-1)?.notice.kind).toBe('failed');
  });
});

describe('saving', () => {
  it('suggests the first words as name, says where, and is silent when the dialog was closed', async () => {
    const { studio, host } = await testStudio();
    host.emit('job.queued', fakeJob({ text_preview: 'Who: "me"? <Yes>' }));
    await saveJob(studio, 'job-1');
    expect(host.saved).toEqual([{ job_id: 'job-1', suggested_name: 'Who me Yes.wav' }]);
    expect(studio.store.getState().notices[0]?.notice).toMatchObject({
      kind: 'saved',
      path: host.savedAs!.path,
    });
    host.savedAs = null;
    await saveJob(studio, 'job-1');
    expect(studio.store.getState().notices).toHaveLength(1);
  });

  it.each([
    ['Hello from Mizuoto.', 'Hello from Mizuoto.wav'],
    ['你好，世界。', '你好，世界.wav'],
    ['../../etc/passwd', 'etc passwd.wav'],
    ['CON\u0000\n..', 'CON.wav'],
    ['\ud83d broken', 'broken.wav'],
    [`${'long words '.repeat(20)}`, 'long words long words long words long words long words long.wav'],
    ['', 'mizuoto 2026-03-04 050607.wav'],
    ['???', 'mizuoto 2026-03-04 050607.wav'],
  ])('%j becomes %j', (text, name) => {
    expect(suggestedName(text, new Date(2026, 2, 4, 5, 6, 7))).toBe(name);
  });
});

describe('the draft', () => {
  it('is kept a moment after the last change, and found again', async () => {
    const { studio, timers, storage } = await testStudio();
    let leave = () => {};
    keepDraft(studio, {
      addEventListener: (_: string, listener: EventListenerOrEventListenerObject) => {
        leave = listener as () => void;
      },
    });
    editDraft(studio, { text: 'A', seed: 12 });
    await timers.advance(300);
    editDraft(studio, { text: 'AB' });
    await timers.advance(500);
    expect(storage.has('mizuoto.draft')).toBe(false);
    await timers.advance(200);
    expect(studio.parts.keeper.draft()).toMatchObject({ text: 'AB', seed: 12 });
    editDraft(studio, { text: 'ABC' });
    leave();
    expect(studio.parts.keeper.draft()?.text).toBe('ABC');
  });

  it('survives nonsense in storage', async () => {
    const { studio, storage } = await testStudio();
    expect(studio.parts.keeper.draft()).toBeNull();
    for (const kept of ['{', '[]', '7', '{"text":5,"speed":"fast","seed":1.5}']) {
      storage.set('mizuoto.draft', kept);
      storage.set('mizuoto.volume', kept);
      const draft = studio.parts.keeper.draft();
      if (draft !== null) expect(draft).toEqual(emptyDraft);
      expect(studio.parts.keeper.volume()?.volume ?? 0.3).toBe(0.3);
    }
  });
});

import { maxTextLength, type ParameterValue, type SpeakRequestInput } from '../../../main/contract/speech.ts';
import { toErrorBody } from '../bridge/errors.ts';
import { type Draft, maxSeed } from './draft.ts';
import {
  changedParameters,
  instructField,
  parameterOf,
  savedKey,
  selectEngine,
  selectInstruct,
  selectLanguage,
  selectModel,
  selectVoiceKey,
} from './engines.ts';
import { type GeneratePlan, planGenerate } from './estimate.ts';
import { suggestedName } from './file-name.ts';
import { selectRunningJob } from './jobs.ts';
import { dismissNotice, notify } from './notices.ts';
import { startWhenFree, unloadPlayer } from './play.ts';
import { applySnapshot } from './runtime.ts';
import type { StudioState } from './state.ts';
import type { Studio } from './studio.ts';
import type { Screen } from './ui.ts';

export function editDraft(studio: Studio, patch: Partial<Draft>): void {
  studio.store.setState((state) => ({ draft: { ...state.draft, ...patch } }));
}

/** Another model: what it has as well is kept, the rest is dropped and told. */
export function chooseModel(studio: Studio, engine: string, model: string | null): void {
  studio.store.setState((before) => {
    const state = { ...before, draft: { ...before.draft, engine, model } };
    const voice = selectVoiceKey(state);
    return {
      dropped: droppedBy(before, state),
      draft: {
        ...state.draft,
        // The first of another model is its default, not a choice.
        voice: voice === before.draft.voice ? voice : null,
        language: selectLanguage(state),
        parameters: changedParameters(selectEngine(state), before.draft.parameters),
      },
    };
  });
}

/** What was changed and the other engine does not take. Speed and pitch stay in the draft, for an engine that has them. */
function droppedBy(before: StudioState, after: StudioState): string[] {
  const [old, next] = [selectEngine(before), selectEngine(after)];
  if (old === next) return before.dropped;
  const { parameters } = before.draft;
  const taken = changedParameters(next, parameters);
  const own = Object.keys(changedParameters(old, parameters)).filter((key) => !Object.hasOwn(taken, key));
  const rates = (['speed', 'pitch'] as const).filter((key) => {
    const range = parameterOf(old, key);
    return range !== undefined && before.draft[key] !== range.default && parameterOf(next, key) === undefined;
  });
  return [...rates, ...own];
}

/** A value of one of the engine's own parameters; its default is not kept. */
export function setParameter(studio: Studio, key: string, value: ParameterValue): void {
  studio.store.setState((state) => ({
    draft: {
      ...state.draft,
      parameters: changedParameters(selectEngine(state), { ...state.draft.parameters, [key]: value }),
    },
  }));
}

export function rollSeed(studio: Studio): void {
  editDraft(studio, { seed: Math.floor(Math.random() * (maxSeed + 1)) });
}

/** The request that the draft stands for; only parameters that the engine has. */
export function draftRequest(state: StudioState): SpeakRequestInput | null {
  const engine = selectEngine(state);
  if (engine === undefined) return null;
  const { draft } = state;
  const model = selectModel(state);
  const voice = selectVoiceKey(state);
  const instruct = selectInstruct(state);
  const language = selectLanguage(state);
  const parameters = changedParameters(engine, draft.parameters);
  /** Another engine may allow less than the one that the value was set for. */
  const within = (key: 'speed' | 'pitch'): { speed?: number; pitch?: number } => {
    const range = parameterOf(engine, key);
    return range === undefined ? {} : { [key]: Math.min(range.maximum, Math.max(range.minimum, draft[key])) };
  };
  return {
    text: draft.text,
    engine: engine.id,
    ...(model === undefined || engine.models.length < 2 ? {} : { model: model.id }),
    ...(voice === null ? {} : { voice }),
    ...(language === 'auto' ? {} : { language }),
    ...(instruct === '' ? {} : { instruct }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(draft.seed === null ? {} : { seed: draft.seed }),
    ...within('speed'),
    ...within('pitch'),
    source: 'app',
  };
}

const goes: ReadonlySet<GeneratePlan['kind']> = new Set(['queue', 'load_then_generate', 'generate']);
/** Generate would do something now. */
export const canGenerate = (kind: GeneratePlan['kind']): boolean => goes.has(kind);

/** Queues the draft; typing goes on meanwhile. */
export async function generate(studio: Studio): Promise<void> {
  const state = studio.store.getState();
  if (!canGenerate(planGenerate(state, maxTextLength).kind)) return;
  const request = draftRequest(state);
  if (request === null) return;
  await speak(studio, request);
}

async function speak(studio: Studio, request: SpeakRequestInput): Promise<void> {
  studio.store.setState({ requestError: null });
  try {
    const { job_id } = await studio.bridge.call('speak', request);
    studio.store.setState((state) => ({ jobRequests: { ...state.jobRequests, [job_id]: request } }));
    startWhenFree(studio, job_id);
  } catch (thrown) {
    studio.store.setState({ requestError: toErrorBody(thrown) });
  }
}

export function dismissRequestError(studio: Studio): void {
  studio.store.setState({ requestError: null });
}

export async function stopJob(studio: Studio, jobId: string): Promise<void> {
  studio.store.setState((state) => ({ jobStopping: { ...state.jobStopping, [jobId]: true } }));
  try {
    await studio.bridge.call('jobs.cancel', { job_id: jobId });
  } catch (thrown) {
    notify(studio, { kind: 'failed', error: toErrorBody(thrown) });
    studio.store.setState((state) => {
      const { [jobId]: _, ...jobStopping } = state.jobStopping;
      return { jobStopping };
    });
  }
}

export function stopRunning(studio: Studio): void {
  const job = selectRunningJob(studio.store.getState());
  if (job !== undefined) void stopJob(studio, job.job_id);
}

export async function saveJob(studio: Studio, jobId: string): Promise<void> {
  const { jobs, shell } = studio.store.getState();
  const job = jobs[jobId];
  if (job === undefined) return;
  try {
    const saved = await studio.bridge.saveAudio({
      job_id: jobId,
      suggested_name: suggestedName(job.text_preview, new Date(job.created_at)),
    });
    if (saved !== null) {
      notify(studio, { kind: 'saved', path: saved.path, inBrowser: shell.kind === 'browser' });
    }
  } catch (thrown) {
    notify(studio, { kind: 'failed', error: toErrorBody(thrown), saveJob: jobId });
  }
}

/** Text and settings of a result back into the editor; the seed it was spoken with stays, so it can be repeated. */
export function restoreSettings(studio: Studio, jobId: string): void {
  const { jobs, jobRequests, draft, engines, savedVoices } = studio.store.getState();
  const job = jobs[jobId];
  if (job === undefined) return;
  const request = jobRequests[jobId];
  const applied = (key: 'speed' | 'pitch'): number | undefined => {
    const value = request?.[key] ?? job.result?.applied[key];
    return typeof value === 'number' ? value : undefined;
  };
  const engine = engines.find((one) => one.id === job.engine);
  const model = engine?.models.find((one) => one.id === job.model);
  const voice = job.result?.voice ?? job.voice;
  const saved = savedVoices.find((one) => one.id === voice);
  const named = saved !== undefined && !model?.speakers.some((one) => one.id === voice);
  const field = instructField(model);
  const language = request?.language ?? (request === undefined ? job.result?.applied.language : 'auto');
  editDraft(studio, {
    text: request?.text ?? draft.text,
    engine: engine?.id ?? draft.engine,
    model: model?.id ?? draft.model,
    voice: named ? savedKey(saved) : voice || draft.voice,
    language: typeof language === 'string' ? language : 'auto',
    ...(field === null || request === undefined ? {} : { [field]: request.instruct ?? '' }),
    parameters: changedParameters(engine, request?.parameters ?? job.result?.applied ?? {}),
    speed: applied('speed') ?? draft.speed,
    pitch: applied('pitch') ?? draft.pitch,
    seed: job.result?.seed ?? request?.seed ?? null,
  });
  studio.store.setState({ screen: 'generate' });
  const { text } = studio.store.getState().draft;
  if (/\S/.test(draft.text) && text !== draft.text) notify(studio, { kind: 'restored', before: draft });
}

/** The same request once more, with the seed it had. */
export async function repeatJob(studio: Studio, jobId: string): Promise<void> {
  const request = studio.store.getState().jobRequests[jobId];
  if (request === undefined) restoreSettings(studio, jobId);
  else await speak(studio, request);
}

/** Takes a result off the list; the notice offers it back until it fades. */
export function deleteJob(studio: Studio, jobId: string): void {
  const { jobs, player, jobHidden } = studio.store.getState();
  const job = jobs[jobId];
  if (job === undefined) return;
  hide(studio, { ...jobHidden, [jobId]: true });
  if (player.jobId === jobId) unloadPlayer(studio);
  notify(studio, { kind: 'deleted', jobId, title: job.text_preview });
}

export function undoRestore(studio: Studio, noticeId: number, before: Draft): void {
  editDraft(studio, before);
  dismissNotice(studio, noticeId);
}

export function undoDelete(studio: Studio, noticeId: number, jobId: string): void {
  const { [jobId]: _, ...jobHidden } = studio.store.getState().jobHidden;
  hide(studio, jobHidden);
  dismissNotice(studio, noticeId);
}

/** The host keeps its jobs for as long as it runs: a reload must not bring deleted ones back. */
function hide(studio: Studio, jobHidden: Record<string, true>): void {
  studio.store.setState({ jobHidden });
  studio.parts.keeper.keepHidden(Object.keys(jobHidden));
}

/** After the notice faded: nothing can bring it back, so its samples go too. */
export function forgetDeleted(studio: Studio, jobId: string): void {
  if (studio.store.getState().jobHidden[jobId]) studio.library.delete(jobId);
}

async function withModel(
  studio: Studio,
  id: string,
  what: 'load' | 'unload' | 'pin',
  work: () => Promise<void>,
): Promise<void> {
  if (studio.store.getState().modelBusy[id] !== undefined) return;
  studio.store.setState((state) => {
    const { [id]: _, ...modelError } = state.modelError;
    return { modelBusy: { ...state.modelBusy, [id]: what }, modelError };
  });
  try {
    await work();
  } catch (thrown) {
    const error = toErrorBody(thrown);
    studio.store.setState((state) => ({ modelError: { ...state.modelError, [id]: error } }));
  } finally {
    studio.store.setState((state) => {
      const { [id]: _, ...modelBusy } = state.modelBusy;
      return { modelBusy };
    });
  }
}

export const loadModel = (studio: Studio, id: string): Promise<void> =>
  withModel(studio, id, 'load', async () => {
    const snapshot = await studio.bridge.call('models.load', { model: id });
    studio.store.setState((state) => applySnapshot(state, snapshot));
  });

export const unloadModel = (studio: Studio, id: string, name: string): Promise<void> =>
  withModel(studio, id, 'unload', async () => {
    const { freed_bytes } = await studio.bridge.call('models.unload', { model: id });
    studio.store.setState((state) => ({ modelFreed: { ...state.modelFreed, [id]: freed_bytes } }));
    notify(studio, { kind: 'freed', model: name, bytes: freed_bytes });
  });

export const pinModel = (studio: Studio, id: string, pinned: boolean): Promise<void> =>
  withModel(studio, id, 'pin', async () => {
    const snapshot = await studio.bridge.call('models.pin', { model: id, pinned });
    studio.store.setState((state) => applySnapshot(state, snapshot));
  });

export async function changeSetting(
  studio: Studio,
  patch: { 'ui.language'?: 'system' | 'en' | 'zh-CN'; 'ui.theme'?: 'system' | 'dark' | 'light' },
): Promise<void> {
  const before = studio.store.getState().settings;
  // Shown at once; the host's answer decides.
  if (before !== null) studio.store.setState({ settings: { ...before, ...patch } });
  try {
    studio.store.setState({ settings: await studio.bridge.call('settings.set', { patch }) });
  } catch (thrown) {
    studio.store.setState({ settings: before });
    notify(studio, { kind: 'failed', error: toErrorBody(thrown) });
  }
}

export function showScreen(studio: Studio, screen: Screen): void {
  studio.store.setState({ screen });
}

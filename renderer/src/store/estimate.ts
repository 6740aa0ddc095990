import type { SpeakRequestInput } from '../../../main/contract/speech.ts';
import {
  instructField,
  lacksVoice,
  selectEngine,
  selectInstruct,
  selectModel,
  selectVoice,
} from './engines.ts';
import { selectActiveJobs, selectRunningJob } from './jobs.ts';
import { selectModelOf } from './runtime.ts';
import type { StudioState } from './state.ts';
import { measureText, type TextMetrics } from './text-metrics.ts';

const measured = new WeakMap<SpeakRequestInput, TextMetrics>();

/** A request's text does not change: one pass over it is enough. */
export function measureRequest(request: SpeakRequestInput): TextMetrics {
  let metrics = measured.get(request);
  if (metrics === undefined) {
    metrics = measureText(request.text);
    measured.set(request, metrics);
  }
  return metrics;
}

/** Latest results that the rule of thumb learns from. */
const learnFrom = 8;

/**
 * How fast this voice speaks, compared with the rule of thumb, from results of this run; 1 when there are none.
 * Short texts say little about a voice's pace and are left out.
 */
export function learnedPace(state: StudioState, engineId: string, voiceId: string | undefined): number {
  const ratios: number[] = [];
  for (let i = state.jobOrder.length - 1; i >= 0 && ratios.length < learnFrom; i--) {
    const job = state.jobs[state.jobOrder[i]!]!;
    const request = state.jobRequests[job.job_id];
    if (job.state !== 'finished' || job.result === null || request === undefined) continue;
    if (job.engine !== engineId || (voiceId !== undefined && job.result.voice !== voiceId)) continue;
    const rule = measureRequest(request).seconds;
    if (rule > 1.5) ratios.push((job.result.seconds * (request.speed ?? 1)) / rule);
  }
  if (ratios.length === 0) return 1;
  ratios.sort((a, b) => a - b);
  return Math.max(0.3, Math.min(3, ratios[Math.floor(ratios.length / 2)]!));
}

export interface Outlook {
  speechSeconds: number;
  /** Time to generate it, from the speed of earlier results of this model; null when there are none. */
  computeSeconds: number | null;
}

export function estimate(state: StudioState, metrics: TextMetrics): Outlook {
  const engine = selectEngine(state);
  const pace = learnedPace(state, engine?.id ?? state.draft.engine, selectVoice(state)?.id);
  const speechSeconds = (metrics.seconds * pace) / state.draft.speed;
  const model = selectModel(state);
  const factors = state.jobOrder
    .map((id) => state.jobs[id]!)
    .filter((job) => job.model === model?.id && job.result !== null)
    .map((job) => job.result!.rtf)
    .slice(-learnFrom)
    .sort((a, b) => a - b);
  const rtf = factors[Math.floor(factors.length / 2)];
  return { speechSeconds, computeSeconds: rtf === undefined ? null : rtf * speechSeconds };
}

/** What pressing Generate will do now: told on the button, taken from what the host says of itself. */
export type GeneratePlan =
  | { kind: 'no_text' }
  | { kind: 'no_engine' }
  | { kind: 'too_long'; characters: number; maximum: number }
  /** The model clones, and there is no voice to clone. */
  | { kind: 'no_voice' }
  /** The model speaks by description, and there is none. */
  | { kind: 'no_description' }
  | { kind: 'instruct_too_long' }
  | { kind: 'offline' }
  | { kind: 'queue'; ahead: number }
  | { kind: 'load_then_generate'; bytes: number }
  | { kind: 'generate' };

export function planGenerate(state: StudioState, maxLength: number): GeneratePlan {
  const engine = selectEngine(state);
  if (state.connection.status === 'lost') return { kind: 'offline' };
  if (!/\S/.test(state.draft.text)) return { kind: 'no_text' };
  const model = selectModel(state);
  const maximum = Math.min(maxLength, model?.limits.text_characters ?? maxLength);
  const characters = state.draft.text.length;
  if (characters > maximum) return { kind: 'too_long', characters, maximum };
  if (engine === undefined || model === undefined) return { kind: 'no_engine' };
  if (lacksVoice(state)) return { kind: 'no_voice' };
  const instruct = selectInstruct(state);
  if (model.instruct === 'required' && instruct === '') return { kind: 'no_description' };
  if (instructField(model) !== null && instruct.length > model.limits.instruct_characters) {
    return { kind: 'instruct_too_long' };
  }
  if (selectRunningJob(state) !== undefined) return { kind: 'queue', ahead: selectActiveJobs(state).length };
  if (selectModelOf(state, model.id) === undefined) {
    return { kind: 'load_then_generate', bytes: model.size_bytes };
  }
  return { kind: 'generate' };
}

import type { Speaker, SpeechModel } from '../../../main/contract/models.ts';
import { type EngineInfo, type EngineParameter, requestParameters } from '../../../main/contract/runtime.ts';
import type { ParameterValue } from '../../../main/contract/speech.ts';
import type { SavedVoice } from '../../../main/contract/voices.ts';
import type { DraftSlice } from './draft.ts';

export interface EnginesSlice {
  engines: EngineInfo[];
  savedVoices: SavedVoice[];
}

export const enginesSlice = (): EnginesSlice => ({ engines: [], savedVoices: [] });

type Choice = EnginesSlice & DraftSlice;

/** The engine of the draft, or the first there is when the draft names one that is gone. */
export function selectEngine(state: Choice): EngineInfo | undefined {
  return state.engines.find((engine) => engine.id === state.draft.engine) ?? state.engines[0];
}

export function selectModel(state: Choice): SpeechModel | undefined {
  const models = selectEngine(state)?.models;
  return models?.find((model) => model.id === state.draft.model) ?? models?.[0];
}

const savedPrefix = 'saved:';

export const savedKey = (voice: Pick<SavedVoice, 'id'>): string => `${savedPrefix}${voice.id}`;

const clones = (model: SpeechModel): boolean => model.modes.includes('clone');

/** Null for a model that needs no voice by name: it speaks by description, or there is none to choose. */
function chosen(state: Choice): { key: string; voice: Speaker | SavedVoice } | null {
  const model = selectModel(state);
  if (model === undefined) return null;
  const keyed = [
    ...model.speakers.map((voice) => ({ key: voice.id, voice })),
    ...(clones(model) ? state.savedVoices.map((voice) => ({ key: savedKey(voice), voice })) : []),
  ];
  return keyed.find(({ key }) => key === state.draft.voice) ?? keyed[0] ?? null;
}

export const selectVoice = (state: Choice): Speaker | SavedVoice | undefined => chosen(state)?.voice;

/** What a request says for the voice. */
export const selectVoiceKey = (state: Choice): string | null => chosen(state)?.key ?? null;

/** The model clones, and nothing is there that it could clone. */
export function lacksVoice(state: Choice): boolean {
  const model = selectModel(state);
  return model !== undefined && clones(model) && !model.modes.includes('design') && chosen(state) === null;
}

/** `auto` where the draft's language is not spoken. */
export function selectLanguage(state: Choice): string {
  const { language } = state.draft;
  return selectModel(state)?.languages.includes(language) ? language : 'auto';
}

/** BCP 47 tag of the text, where it is known. */
export function selectTextLanguage(state: Choice): string | undefined {
  const language = selectLanguage(state);
  if (language !== 'auto') return language;
  const model = selectModel(state);
  return model?.auto_language ? undefined : (selectVoice(state)?.language ?? undefined);
}

/** Which words of the draft are the model's instruction; null: it takes none. */
export function instructField(model: SpeechModel | undefined): 'instruct' | 'description' | null {
  if (model === undefined || model.instruct === 'none') return null;
  return model.modes.every((mode) => mode === 'design') ? 'description' : 'instruct';
}

export function selectInstruct(state: Choice): string {
  const field = instructField(selectModel(state));
  return field === null ? '' : state.draft[field].trim();
}

/** An engine shows only what it has. */
export function parameterOf(engine: EngineInfo | undefined, key: 'speed' | 'pitch') {
  const found = engine?.parameters.find((parameter) => parameter.key === key);
  if (found === undefined) return undefined;
  return {
    minimum: found.minimum ?? 0.5,
    maximum: found.maximum ?? 2,
    step: found.step ?? 0.01,
    default: typeof found.default === 'number' ? found.default : 1,
  };
}

const inRequest: ReadonlySet<string> = new Set(requestParameters);

/** Those that have no control of their own. */
export const otherParameters = (engine: EngineInfo | undefined): EngineParameter[] =>
  engine?.parameters.filter(({ key }) => !inRequest.has(key)) ?? [];

function takes(
  { choices, default: usual, minimum, maximum, integer }: EngineParameter,
  value: ParameterValue,
) {
  if (choices !== undefined) return typeof value === 'string' && choices.includes(value);
  if (typeof value !== 'number') return typeof value === typeof usual;
  if (typeof usual !== 'number' && usual !== null) return false;
  return (
    value >= (minimum ?? Number.NEGATIVE_INFINITY) &&
    value <= (maximum ?? Number.POSITIVE_INFINITY) &&
    (!integer || Number.isInteger(value))
  );
}

/** Values that the engine takes and that are not its defaults. */
export function changedParameters(
  engine: EngineInfo | undefined,
  values: Readonly<Record<string, unknown>>,
): Record<string, ParameterValue> {
  const changed: Record<string, ParameterValue> = {};
  for (const parameter of otherParameters(engine)) {
    const value = Object.hasOwn(values, parameter.key) ? values[parameter.key] : undefined;
    if (typeof value !== 'number' && typeof value !== 'string' && typeof value !== 'boolean') continue;
    if (value !== parameter.default && takes(parameter, value)) changed[parameter.key] = value;
  }
  return changed;
}

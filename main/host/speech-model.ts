import {
  type Ability,
  abilityWords,
  type EngineInfo,
  type SavedVoice,
  type SpeakRequest,
  type SpeechMode,
  type SpeechModel,
  StudioError,
} from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { findSavedVoice } from '../voices/find-voice.ts';

/** What a request can name. */
export interface Nameable {
  /** Engines with the models that can speak now. */
  engines: EngineInfo[];
  voices: readonly SavedVoice[];
  /** Models that could be installed. */
  catalog: readonly { id: string; engine: string; repository: string }[];
  /** Models that were installed and cannot be loaded, and why. */
  damaged: readonly { id: string; engine: string; error: StudioError }[];
}

/** Who speaks: one of the model's speakers, a saved voice, or (both null) reference or instruction. */
export interface ChosenVoice {
  engine: EngineInfo;
  model: SpeechModel;
  speaker: string | null;
  saved: SavedVoice | null;
}

/**
 * The model and the voice of a request. Where it names an engine only, the engine's first model that can do what is
 * asked is taken.
 *
 * @throws StudioError `unknown_engine`, `unknown_model`, `model_not_installed`, `unknown_voice`, `not_supported`,
 *   `invalid_request`
 */
export function chooseVoice(request: SpeakRequest, known: Nameable): ChosenVoice {
  const { engine, models } = candidates(request, known);
  const { voice, reference, instruct } = request;
  if (reference !== undefined && voice !== undefined) {
    throw new StudioError(
      'invalid_request',
      `Both a voice ("${short(voice)}") and reference audio say who speaks. Leave one of them out.`,
      { params: { call: 'speak', field: 'voice', reason: 'there is reference audio as well' } },
    );
  }
  const follows = (model: SpeechModel) => model.instruct !== 'none';
  const prefer = (fitting: SpeechModel[]) =>
    instruct === undefined ? fitting[0] : (fitting.find(follows) ?? fitting[0]);
  if (voice !== undefined) {
    const speaking = models.filter((model) => speakerOf(model, voice) !== null);
    const model = prefer(speaking);
    if (model) return { engine, model, speaker: speakerOf(model, voice), saved: null };
    const saved = findSavedVoice(voice, known.voices);
    if (saved === null) throw unknownVoice(voice, engine, models, known.voices);
    return { engine, model: cloner(models, known.engines), speaker: null, saved };
  }
  if (reference !== undefined) {
    return { engine, model: cloner(models, known.engines), speaker: null, saved: null };
  }
  const able = (mode: SpeechMode) => models.filter(({ modes }) => modes.includes(mode));
  const order =
    instruct === undefined ? [able('speakers'), able('design')] : [able('design'), able('speakers')];
  const model = prefer(order.find((fitting) => fitting.length > 0) ?? models)!;
  return { engine, model, speaker: model.speakers[0]?.id ?? null, saved: null };
}

function candidates(request: SpeakRequest, known: Nameable): { engine: EngineInfo; models: SpeechModel[] } {
  if (request.model !== undefined) {
    const { engine, model } = findModel(request.model, known);
    if (request.engine === undefined || request.engine === engine.id) return { engine, models: [model] };
    throw new StudioError(
      'invalid_request',
      `The model "${model.id}" belongs to the engine "${engine.id}", not to "${short(request.engine)}". Leave the engine out.`,
      { params: { call: 'speak', field: 'engine', reason: `it is not the engine of ${model.id}` } },
    );
  }
  const builtIn = known.engines.find((engine) => engine.built_in) ?? known.engines[0];
  const engine = findEngine(request.engine ?? builtIn?.id ?? '', known);
  return { engine, models: engine.models };
}

function findModel(id: string, known: Nameable): { engine: EngineInfo; model: SpeechModel } {
  for (const engine of known.engines) {
    const model = engine.models.find((candidate) => candidate.id === id);
    if (model) return { engine, model };
  }
  const damaged = known.damaged.find((model) => model.id === id);
  if (damaged) throw damaged.error;
  const missing = known.catalog.find((model) => model.id === id);
  if (missing) throw notInstalled(missing);
  throw unknownModel(
    id,
    known.engines.flatMap(({ models }) => models.map((model) => model.id)),
    known.catalog.map((model) => model.id),
  );
}

/** @throws StudioError `unknown_engine`, `model_not_installed` */
export function findEngine(id: string, known: Pick<Nameable, 'engines'> & Partial<Nameable>): EngineInfo {
  const found = known.engines.find((engine) => engine.id === id);
  if (found) return found;
  const damaged = known.damaged?.find(({ engine }) => engine === id);
  if (damaged) throw damaged.error;
  const missing = known.catalog?.find(({ engine }) => engine === id);
  if (missing) throw notInstalled(missing);
  const engines = [...known.engines.map((engine) => engine.id)];
  const near = new Set([...engines, ...(known.catalog ?? []).map(({ engine }) => engine)]);
  throw new StudioError(
    'unknown_engine',
    `There is no engine named "${short(id)}". ${didYouMean(id, engines, [...near])}`,
    { params: { engine: short(id), known: engines.join(', ') } },
  );
}

function notInstalled({ id, repository }: { id: string; repository: string }): StudioError {
  return new StudioError(
    'model_not_installed',
    `The model "${id}" is not installed. Download the files of ${repository}, then: mizuoto models add FOLDER.`,
    { params: { model: id, repository } },
  );
}

export function unknownModel(id: string, installed: string[], installable: string[] = []): StudioError {
  return new StudioError(
    'unknown_model',
    `There is no model "${short(id)}". ${didYouMean(id, installed, [...installed, ...installable])}`,
    { params: { model: short(id), known: installed.join(', ') } },
  );
}

/** Speakers are found whatever the case: upstream writes them in several ways. */
function speakerOf({ speakers }: SpeechModel, voice: string): string | null {
  const found =
    speakers.find(({ id }) => id === voice) ??
    speakers.find(({ id }) => id.toLowerCase() === voice.toLowerCase());
  return found?.id ?? null;
}

function cloner(models: SpeechModel[], engines: EngineInfo[]): SpeechModel {
  const clones = ({ modes }: SpeechModel) => modes.includes('clone');
  const found = models.find(clones);
  if (found) return found;
  const others = engines.flatMap((engine) => engine.models.filter(clones).map(({ id }) => id));
  throw notSupported('clone', models[0]!, others);
}

export function notSupported(ability: Ability, model: SpeechModel, others: string[]): StudioError {
  const help =
    others.length > 0 ? `These can: ${others.join(', ')}.` : 'No installed model can; see "mizuoto models".';
  return new StudioError(
    'not_supported',
    `The model "${model.id}" cannot ${abilityWords[ability].en}. ${help}`,
    {
      params: {
        model: model.id,
        ability,
        ...(others.length > 0 ? { others: others.join(', ') } : {}),
      },
    },
  );
}

function unknownVoice(
  voice: string,
  engine: EngineInfo,
  models: SpeechModel[],
  voices: readonly SavedVoice[],
): StudioError {
  const speakers = models.flatMap((model) => model.speakers.map(({ id }) => id));
  const known = [...new Set([...speakers, ...voices.map(({ name }) => name)])];
  return new StudioError(
    'unknown_voice',
    `The engine "${engine.id}" has no voice named "${short(voice)}", and no saved voice has that name. ${didYouMean(voice, known)}`,
    { params: { engine: engine.id, voice: short(voice), known: known.join(', ') } },
  );
}

function didYouMean(name: string, known: string[], near: string[] = known): string {
  const found = nearest(name, near);
  return found ? `Did you mean "${found}"?` : `There is: ${known.join(', ') || 'none'}.`;
}

function short(name: string): string {
  return name.length > 60 ? `${name.slice(0, 57)}...` : name;
}

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
import { resolveLanguage } from './speech-language.ts';

/** What a request can name. */
export interface Nameable {
  /** Engines with the models that can speak now. */
  engines: EngineInfo[];
  voices: readonly SavedVoice[];
  /** Models that could be installed. */
  catalog: readonly { id: string; engine: string; repository: string; modes: readonly SpeechMode[] }[];
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

interface Candidate {
  engine: EngineInfo;
  model: SpeechModel;
}

/**
 * The model and the voice of a request: of the models that it leaves open (all, those of its engine, or one) the first
 * that can do what is asked. Engines stand in their order, the built-in one first.
 *
 * @throws StudioError `unknown_engine`, `unknown_model`, `model_not_installed`, `unknown_voice`, `not_supported`,
 *   `invalid_request`
 */
export function chooseVoice(request: SpeakRequest, known: Nameable): ChosenVoice {
  const { voice, reference, instruct } = request;
  const all = candidates(request, known);
  if (reference !== undefined && voice !== undefined) {
    throw new StudioError(
      'invalid_request',
      `Both a voice ("${short(voice)}") and reference audio say who speaks. Leave one of them out.`,
      { params: { call: 'speak', field: 'voice', reason: 'there is reference audio as well' } },
    );
  }
  const spoken = all.filter(({ model }) => speaks(model, request.language));
  const open = spoken.length > 0 ? spoken : all;
  const follows = ({ model }: Candidate) => model.instruct !== 'none';
  const prefer = (fitting: Candidate[]) =>
    instruct === undefined ? fitting[0] : (fitting.find(follows) ?? fitting[0]);
  if (voice !== undefined) {
    const has = ({ model }: Candidate) => speakerOf(model, voice) !== null;
    // Where no model of that voice speaks the language, it is the language that is refused.
    const chosen = prefer(open.filter(has)) ?? prefer(all.filter(has));
    if (chosen) return { ...chosen, speaker: speakerOf(chosen.model, voice), saved: null };
    const saved = findSavedVoice(voice, known.voices);
    if (saved === null) throw unknownVoice(voice, request, all, known.voices);
    return { ...cloner(open, known, saved), speaker: null, saved };
  }
  if (reference !== undefined) return { ...cloner(open, known, null), speaker: null, saved: null };
  const able = (mode: SpeechMode) => open.filter(({ model }) => model.modes.includes(mode));
  const named = able('speakers');
  // An instruction says how a voice speaks where a voice can follow it, and who speaks where none can.
  const order =
    instruct === undefined ? [named, able('design')] : [named.filter(follows), able('design'), named];
  const chosen = (order.find((fitting) => fitting.length > 0) ?? open)[0]!;
  return { ...chosen, speaker: chosen.model.speakers[0]?.id ?? null, saved: null };
}

function candidates(request: SpeakRequest, known: Nameable): Candidate[] {
  if (request.model !== undefined) {
    const found = findModel(request.model, known);
    if (request.engine === undefined || request.engine === found.engine.id) return [found];
    throw new StudioError(
      'invalid_request',
      `The model "${found.model.id}" belongs to the engine "${found.engine.id}", not to "${short(request.engine)}". Leave the engine out.`,
      { params: { call: 'speak', field: 'engine', reason: `it is not the engine of ${found.model.id}` } },
    );
  }
  const engines =
    request.engine === undefined
      ? known.engines.toSorted((a, b) => Number(b.built_in) - Number(a.built_in))
      : [findEngine(request.engine, known)];
  return engines.flatMap((engine) => engine.models.map((model) => ({ engine, model })));
}

function speaks(model: SpeechModel, language: string | undefined): boolean {
  try {
    resolveLanguage(language, model, null);
    return true;
  } catch {
    return false;
  }
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
    `The model "${id}" is not installed. Download all files of ${repository} ("mizuoto models" says how), then: mizuoto models add FOLDER.`,
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

const clones = ({ modes }: { modes: readonly SpeechMode[] }) => modes.includes('clone');

function cloner(open: Candidate[], { engines, catalog }: Nameable, saved: SavedVoice | null): Candidate {
  const found = open.find(({ model }) => clones(model));
  if (found) return found;
  const others = engines.flatMap((engine) => engine.models.filter(clones).map(({ id }) => id));
  const { model } = open[0]!;
  if (saved === null) throw notSupported('clone', model, others);
  const own = model.modes.includes('speakers') ? 'its own speakers' : 'voices made from words (--instruct)';
  const known: Record<string, string> = model.modes.includes('speakers')
    ? { speakers: model.speakers.map(({ id }) => id).join(', ') }
    : { instruct: model.id };
  const { able, help } = whoClones(others, catalog);
  throw new StudioError(
    'not_supported',
    `The model "${model.id}" cannot speak in the saved voice "${saved.name}": it speaks with ${own} only, and a saved voice has to be cloned. ${help}`,
    { params: { model: model.id, ability: 'clone', voice: saved.name, ...known, ...able } },
  );
}

/** Models that clone, or would once they are installed: for the sentence, and for other languages. */
function whoClones(
  others: readonly string[],
  catalog: Nameable['catalog'],
): { able: Record<string, string>; help: string } {
  const installed = others.join(', ');
  if (installed !== '') return { able: { others: installed }, help: `These can: ${installed}.` };
  const installable = catalog
    .filter(clones)
    .map(({ id }) => id)
    .join(', ');
  if (installable === '') return { able: {}, help: 'No installed model can; see "mizuoto models".' };
  return { able: { installable }, help: `No installed model can; these could be installed: ${installable}.` };
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

/** Lists the voices that the models in question can speak in: saved ones only where one of them clones. */
function unknownVoice(
  voice: string,
  { engine, model }: SpeakRequest,
  all: Candidate[],
  voices: readonly SavedVoice[],
): StudioError {
  const speakers = all.flatMap((candidate) => candidate.model.speakers.map(({ id }) => id));
  const saved = all.some((candidate) => clones(candidate.model)) ? voices.map(({ name }) => name) : [];
  const known = [...new Set([...speakers, ...saved])];
  const whose = model ?? engine;
  const who = model ? `The model "${model}"` : engine ? `The engine "${engine}"` : 'No installed model';
  const only = (mode: SpeechMode) =>
    model !== undefined && all.every((candidate) => candidate.model.modes.join() === mode);
  const designs = only('design');
  const clonesOnly = only('clone');
  const help = designs
    ? 'It has no voices by name: describe the voice (--instruct).'
    : clonesOnly && known.length === 0
      ? 'It clones voices: give reference audio (--reference), or save a voice first (mizuoto voices add).'
      : didYouMean(voice, known);
  return new StudioError(
    'unknown_voice',
    `${who} has ${whose ? 'no' : 'a'} voice named "${short(voice)}", and no saved voice has that name. ${help}`,
    {
      params: {
        ...(whose ? { engine: whose } : {}),
        ...(designs ? { design: model } : {}),
        ...(clonesOnly ? { clones: model } : {}),
        voice: short(voice),
        known: known.join(', ') || '-',
      },
    },
  );
}

function didYouMean(name: string, known: string[], near: string[] = known): string {
  const found = nearest(name, near);
  return found ? `Did you mean "${found}"?` : `There is: ${known.join(', ') || 'none'}.`;
}

function short(name: string): string {
  return name.length > 60 ? `${name.slice(0, 57)}...` : name;
}

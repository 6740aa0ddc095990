import { randomInt } from 'node:crypto';
import type {
  EngineInfo,
  SavedVoice,
  Settings,
  SpeakRequest,
  SpeechModel,
  VerifyRequest,
} from '../contract/index.ts';
import { StudioError, say } from '../contract/index.ts';
import type { Said } from '../contract/said.ts';
import type { Reference } from '../engines/engine.ts';
import { effectiveSettings } from '../settings/resolve.ts';
import type { SpeechTask, VerifyTask } from './backend.ts';
import { findLanguage, resolveLanguage } from './speech-language.ts';
import { chooseVoice, findEngine, type Nameable, notSupported } from './speech-model.ts';
import { checkRate, resolveParameters } from './speech-parameters.ts';

/** Everything that a request can refer to. */
export interface SpeechWorld extends Nameable {
  settings: Settings;
  references: References;
}

/** How reference audio is read and checked. */
export interface References {
  /** Of this request alone. */
  read(audio: Uint8Array, text: string | null, limits: ReferenceLimits): Promise<CheckedReference>;
  /** Of a saved voice. */
  saved(voice: SavedVoice, limits: ReferenceLimits): Promise<CheckedReference>;
}

/** Seconds that a model accepts. */
export interface ReferenceLimits {
  minimum: number;
  maximum: number;
}

export interface CheckedReference {
  reference: Reference;
  warnings: Said[];
}

/** Everything about a request that can be decided without computing: a bad one is refused before it is queued. */
export async function resolveSpeech(request: SpeakRequest, world: SpeechWorld): Promise<SpeechTask> {
  const { engine, model, speaker, saved } = chooseVoice(request, world);
  checkText(request.text, model);
  checkRate('speed', request.speed, engine);
  checkRate('pitch', request.pitch, engine);
  const parameters = resolveParameters(request.parameters, engine);
  const speakerLanguage = model.speakers.find(({ id }) => id === speaker)?.language ?? null;
  const language = resolveLanguage(request.language, model, speakerLanguage ?? saved?.language ?? null);
  const instruct = resolveInstruct(request.instruct, model, world.engines);
  const settings = effectiveSettings(world.settings, request.settings);
  const checked = await resolveReference(request, { model, speaker, saved }, world.references);
  return {
    text: request.text,
    engine: engine.id,
    model: model.id,
    voice: speaker ?? '',
    seed: request.seed ?? randomInt(2 ** 32),
    speed: request.speed,
    pitch: request.pitch,
    language,
    instruct,
    reference: checked?.reference ?? null,
    parameters,
    sampleRate: model.sample_rate,
    settings,
    warnings: [...languageWarnings(saved, model), ...(checked?.warnings ?? [])],
  };
}

/** A clone keeps the accent of its reference, and a model that never learned that language knows no such accent. */
function languageWarnings(saved: SavedVoice | null, model: SpeechModel): Said[] {
  if (saved === null || saved.language === null) return [];
  if (findLanguage(saved.language, model.languages) !== null) return [];
  const { name: voice, language } = saved;
  return [say('voice_language', { voice, language, model: model.id, known: model.languages.join(', ') })];
}

/** The same for a verification. */
export function resolveVerify(
  request: VerifyRequest,
  known: Pick<Nameable, 'engines'> & Partial<Nameable>,
  settings: Settings,
): VerifyTask {
  const { engine, text } = request;
  const chosen = engine === 'all' ? known.engines : [findEngine(engine, known)];
  if (text !== undefined) checkText(text, null);
  return {
    engines: chosen.map(({ id }) => id),
    settings: effectiveSettings(settings, request.settings),
    asked: Object.keys(request.settings),
    text,
  };
}

function resolveInstruct(
  asked: string | undefined,
  model: SpeechModel,
  engines: EngineInfo[],
): string | null {
  const instruct = asked?.trim() ?? '';
  if (instruct === '') {
    if (model.instruct === 'required')
      throw needs(model, 'instruct', 'a description of the voice (instruct)');
    return null;
  }
  if (model.instruct === 'none') {
    const follow = engines.flatMap(({ models }) => models.filter((other) => other.instruct !== 'none'));
    throw notSupported(
      'instruct',
      model,
      follow.map(({ id }) => id),
    );
  }
  const malformed = malformation(instruct);
  if (malformed) throw malformed;
  const limit = model.limits.instruct_characters;
  if (instruct.length <= limit) return instruct;
  throw new StudioError(
    'text_too_long',
    `The instruction has ${instruct.length} characters; the model "${model.id}" reads at most ${limit}. Shorten it.`,
    { params: { limit, field: 'instruct' } },
  );
}

async function resolveReference(
  { reference: own }: SpeakRequest,
  { model, speaker, saved }: { model: SpeechModel; speaker: string | null; saved: SavedVoice | null },
  references: References,
): Promise<CheckedReference | null> {
  const limits = model.limits.reference_seconds;
  if (speaker !== null || limits === null) return null;
  if (own === undefined && saved === null) {
    if (model.modes.includes('design')) return null;
    throw needs(model, 'reference', 'a voice to clone: reference audio or a saved voice');
  }
  const text = (own ? own.text : saved?.text)?.trim() || null;
  if (text === null && model.reference_text === 'required') {
    throw needs(model, 'reference.text', 'the words of the reference audio (its transcript)');
  }
  const malformed = text === null ? null : malformation(text);
  if (malformed) throw malformed;
  return saved ? references.saved(saved, limits) : references.read(own!.audio, text, limits);
}

function needs(model: SpeechModel, field: string, what: string): StudioError {
  return new StudioError('invalid_request', `The model "${model.id}" needs ${what}.`, {
    params: { call: 'speak', field, needs: field, model: model.id, reason: `it needs ${what}` },
  });
}

/** Text that no engine could read: empty, with NUL bytes, or with half a character; or too long for this model. */
function checkText(text: string, model: SpeechModel | null): void {
  const malformed = malformation(text);
  if (malformed) throw malformed;
  // Invisible characters alone (zero-width space, byte order mark, ...) are no text either.
  if (!/[^\s\p{Cf}\p{Cc}]/u.test(text)) {
    throw new StudioError('text_empty', 'There is no text to speak. Give at least one word.');
  }
  const limit = model?.limits.text_characters ?? null;
  if (limit === null || text.length <= limit) return;
  throw new StudioError(
    'text_too_long',
    `The text has ${text.length} characters; the model "${model?.id}" speaks at most ${limit} in one request. Split it.`,
    { params: { limit } },
  );
}

function malformation(text: string): StudioError | null {
  const nul = text.indexOf('\0');
  if (nul >= 0) return malformed(`a NUL byte at position ${nul + 1}: that is not text`, 'NUL', nul + 1);
  const half = text.search(/\p{Surrogate}/u);
  if (half < 0) return null;
  return malformed(`half a character (a lone surrogate) at position ${half + 1}`, 'lone surrogate', half + 1);
}

function malformed(what: string, kind: string, position: number): StudioError {
  return new StudioError('text_malformed', `The text holds ${what}. Save it as UTF-8 text and try again.`, {
    params: { kind, position },
  });
}

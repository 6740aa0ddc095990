import { randomInt } from 'node:crypto';
import type { EngineInfo, Settings, SpeakRequest, VerifyRequest } from '../contract/index.ts';
import { StudioError } from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { effectiveSettings } from '../settings/resolve.ts';
import type { SpeechTask, VerifyTask } from './backend.ts';

/** Everything about a request that can be decided without computing: a bad one is refused before it is queued. */
export function resolveSpeech(request: SpeakRequest, engines: EngineInfo[], settings: Settings): SpeechTask {
  const engine = findEngine(request.engine, engines);
  const voice = findVoice(request.voice, engine);
  checkText(request.text);
  checkParameter('speed', request.speed, engine);
  checkParameter('pitch', request.pitch, engine);
  return {
    text: request.text,
    engine: engine.id,
    voice,
    seed: request.seed ?? randomInt(2 ** 32),
    speed: request.speed,
    pitch: request.pitch,
    settings: effectiveSettings(settings, request.settings),
  };
}

/** The same for a verification. */
export function resolveVerify(request: VerifyRequest, engines: EngineInfo[], settings: Settings): VerifyTask {
  const { engine, text } = request;
  const chosen = engine === 'all' ? engines : [findEngine(engine, engines)];
  if (text !== undefined) checkText(text);
  return {
    engines: chosen.map(({ id }) => id),
    settings: effectiveSettings(settings, request.settings),
    asked: Object.keys(request.settings),
    text,
  };
}

function didYouMean(name: string, known: string[]): string {
  const near = nearest(name, known);
  return near ? `Did you mean "${near}"?` : `There is: ${known.join(', ') || 'none'}.`;
}

function short(name: string): string {
  return name.length > 60 ? `${name.slice(0, 57)}...` : name;
}

export function findEngine(id: string, engines: EngineInfo[]): EngineInfo {
  const found = engines.find((engine) => engine.id === id);
  if (found) return found;
  const known = engines.map((engine) => engine.id);
  throw new StudioError(
    'unknown_engine',
    `There is no engine named "${short(id)}". ${didYouMean(id, known)}`,
    {
      params: { engine: short(id), known: known.join(', ') },
    },
  );
}

function findVoice(id: string | undefined, engine: EngineInfo): string {
  const known = engine.voices.map((voice) => voice.id);
  if (id === undefined) return known[0] ?? '';
  if (known.includes(id)) return id;
  throw new StudioError(
    'unknown_voice',
    `The engine "${engine.id}" has no voice named "${short(id)}". ${didYouMean(id, known)}`,
    { params: { engine: engine.id, voice: short(id), known: known.join(', ') } },
  );
}

function checkParameter(key: 'speed' | 'pitch', value: number, engine: EngineInfo): void {
  const parameter = engine.parameters.find((candidate) => candidate.key === key);
  if (!parameter) {
    if (value === 1) return;
    throw new StudioError(
      'invalid_request',
      `The engine "${engine.id}" cannot change the ${key} (${value} was asked for). Leave it out.`,
      { params: { call: 'speak', field: key, value, engine: engine.id } },
    );
  }
  const low = parameter.minimum ?? 0;
  const high = parameter.maximum ?? Number.POSITIVE_INFINITY;
  if (value >= low && value <= high) return;
  throw new StudioError(
    'invalid_request',
    `A ${key} of ${value} is outside what the engine "${engine.id}" speaks: choose one from ${low} to ${high}.`,
    { params: { call: 'speak', field: key, value, minimum: low, maximum: high } },
  );
}

/** Text that no engine could read: empty, with NUL bytes, or with half a character. */
function checkText(text: string): void {
  const nul = text.indexOf('\0');
  if (nul >= 0) {
    throw malformed(`a NUL byte at position ${nul + 1}: that is not text`, 'NUL', nul + 1);
  }
  const half = text.search(/\p{Surrogate}/u);
  if (half >= 0) {
    throw malformed(
      `half a character (a lone surrogate) at position ${half + 1}`,
      'lone surrogate',
      half + 1,
    );
  }
  // Invisible characters alone (zero-width space, byte order mark, ...) are no text either.
  if (!/[^\s\p{Cf}\p{Cc}]/u.test(text)) {
    throw new StudioError('text_empty', 'There is no text to speak. Give at least one word.');
  }
}

function malformed(what: string, kind: string, position: number): StudioError {
  return new StudioError('text_malformed', `The text holds ${what}. Save it as UTF-8 text and try again.`, {
    params: { kind, position },
  });
}

import { createHash } from 'node:crypto';
import { type EngineParameter, requestParameters } from '../contract/runtime.ts';
import type { ParameterValue } from '../contract/speech.ts';
import type { InstalledModel } from '../models/types.ts';
import type { Reference, SpeakTask } from './engine.ts';

/** A value for each parameter that only this engine has. */
export function parameterDefaults(parameters: readonly EngineParameter[]): Record<string, ParameterValue> {
  const own = parameters.filter(({ key }) => !isRequestParameter(key));
  return Object.fromEntries(own.flatMap(({ key, default: value }) => (value === null ? [] : [[key, value]])));
}

export function isRequestParameter(key: string): boolean {
  return (requestParameters as readonly string[]).includes(key);
}

/** The plainest request of a model: its first speaker (else an artificial reference), defaults, seed 1. */
export function plainTask(
  { id, abilities }: Pick<InstalledModel, 'id' | 'abilities'>,
  parameters: readonly EngineParameter[],
  text: string,
): SpeakTask {
  const { modes, speakers, instruct, languages, auto_language } = abilities;
  const clones = speakers.length === 0 && modes.includes('clone');
  return {
    text,
    model: id,
    voice: speakers[0]?.id ?? '',
    seed: 1,
    speed: 1,
    pitch: 1,
    language: auto_language ? 'auto' : (speakers[0]?.language ?? languages[0]!),
    instruct: instruct === 'required' ? 'A calm voice.' : null,
    reference: clones ? artificialReference() : null,
    parameters: parameterDefaults(parameters),
  };
}

/** Three seconds of a vowel-like hum: what is tested with it is memory, and no person's voice is needed. */
export function artificialReference(): Reference {
  const sampleRate = 24_000;
  const samples = Float32Array.from({ length: 3 * sampleRate }, (_, n) => {
    const t = n / sampleRate;
    const syllable = 0.5 - 0.5 * Math.cos(2 * Math.PI * 4 * t);
    const pitch = 2 * Math.PI * (120 * t + 2 * Math.sin(2 * Math.PI * 0.7 * t));
    let sound = 0;
    for (let k = 1; k <= 20; k++) sound += Math.sin(k * pitch) / (1 + ((k * 120 - 600) / 400) ** 2);
    return 0.08 * syllable * sound;
  });
  const hash = createHash('sha256').update(Buffer.from(samples.buffer)).digest('hex');
  return { samples, sampleRate, text: 'Water over stone.', hash, voice: null };
}

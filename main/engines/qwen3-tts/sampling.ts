import type { EngineParameter } from '../../contract/runtime.ts';
import type { ParameterValue } from '../../contract/speech.ts';
import type { SamplingOptions } from '../../nn/sampling.ts';
import type { GenerateOptions } from './generate.ts';

/**
 * What a request may change. Defaults are those of every published `generation_config.json`, whose names these are;
 * a temperature of 0 takes the most likely code instead of drawing one (`do_sample: false`).
 */
export const samplingParameters: readonly EngineParameter[] = [
  {
    key: 'temperature',
    description:
      'How freely the first code of each frame is drawn: lower is steadier, 0 always the most likely.',
    minimum: 0,
    maximum: 2,
    step: 0.05,
    default: 0.9,
  },
  {
    key: 'top_k',
    description: 'Only this many of the most likely first codes are drawn from; 0: all.',
    minimum: 0,
    maximum: 2048,
    step: 1,
    integer: true,
    default: 50,
  },
  {
    key: 'top_p',
    description: 'Only the most likely first codes whose probabilities add up to this are drawn from.',
    minimum: 0.01,
    maximum: 1,
    step: 0.01,
    default: 1,
  },
  {
    key: 'repetition_penalty',
    description: 'Above 1: first codes that occurred are less likely to come again.',
    minimum: 1,
    maximum: 2,
    step: 0.01,
    default: 1.05,
  },
  {
    key: 'subtalker_temperature',
    description:
      'The same as temperature for the other codes of each frame, which make the detail of the sound.',
    minimum: 0,
    maximum: 2,
    step: 0.05,
    default: 0.9,
  },
  {
    key: 'subtalker_top_k',
    description: 'The same as top_k for the other codes.',
    minimum: 0,
    maximum: 2048,
    step: 1,
    integer: true,
    default: 50,
  },
  {
    key: 'subtalker_top_p',
    description: 'The same as top_p for the other codes; below 1 it is slower.',
    minimum: 0.01,
    maximum: 1,
    step: 0.01,
    default: 1,
  },
  {
    key: 'prompt_layout',
    description:
      'Whether the talker reads the whole text first or word by word as it speaks. auto: word by word when cloning, as the models were published.',
    choices: ['auto', 'whole', 'interleaved'],
    default: 'auto',
  },
];

/** How the talker and the code predictor draw, by the parameters of a request. */
export function samplingOf(
  parameters: Readonly<Record<string, ParameterValue>>,
): Pick<GenerateOptions, 'sampling' | 'predictor'> {
  const number = (key: string): number => {
    const value = parameters[key];
    if (typeof value !== 'number') throw new TypeError(`the parameter ${key} is missing`);
    return value;
  };
  const draw = (prefix: string): SamplingOptions => {
    const temperature = number(`${prefix}temperature`);
    if (temperature === 0) return { do_sample: false };
    return { temperature, top_k: number(`${prefix}top_k`), top_p: number(`${prefix}top_p`) };
  };
  return {
    sampling: { ...draw(''), repetition_penalty: number('repetition_penalty') },
    predictor: draw('subtalker_'),
  };
}

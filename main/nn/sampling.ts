import type { Random } from './random.ts';

/** How the next token is drawn; names and meaning as in transformers' generation settings. */
export interface SamplingOptions {
  /** False: the most likely token. Default: true. */
  do_sample?: boolean;
  /** Default: 1. */
  temperature?: number;
  /** Only the k most likely; 0: all. Default: 0. */
  top_k?: number;
  /** Only the most likely whose probabilities add up to p. Default: 1. */
  top_p?: number;
  /** Only those at least this fraction as likely as the most likely. Default: 0. */
  min_p?: number;
  /** Above 1: tokens that occurred are less likely (Keskar et al. 2019). Default: 1. */
  repetition_penalty?: number;
  /** Tokens never drawn. */
  suppress_tokens?: readonly number[];
}

/** Checks once what every step relies on. */
export function checkSampling(options: SamplingOptions): void {
  const { temperature = 1, top_k = 0, top_p = 1, min_p = 0, repetition_penalty = 1 } = options;
  const fail = (name: string, value: number, range: string): never => {
    throw new RangeError(`${name} is ${range}; ${value} is not.`);
  };
  if (!(temperature > 0 && Number.isFinite(temperature)))
    fail('temperature', temperature, 'a positive number');
  if (!Number.isInteger(top_k) || top_k < 0) fail('top_k', top_k, 'a whole number from 0 up');
  if (!(top_p > 0 && top_p <= 1)) fail('top_p', top_p, 'above 0 and at most 1');
  if (!(min_p >= 0 && min_p <= 1)) fail('min_p', min_p, 'from 0 to 1');
  if (!(repetition_penalty > 0 && Number.isFinite(repetition_penalty))) {
    fail('repetition_penalty', repetition_penalty, 'a positive number');
  }
}

/**
 * Applies every setting to one row of logits, in transformers' order: repetition penalty, suppressed tokens, then
 * temperature, top-k, top-p, min-p. Tokens that are out become -Infinity. Works in place.
 */
export function processLogits(
  logits: Float32Array,
  options: SamplingOptions,
  previous: Iterable<number> = [],
): Float32Array {
  const { repetition_penalty = 1, suppress_tokens = [], temperature = 1 } = options;
  if (repetition_penalty !== 1) {
    for (const token of new Set(previous)) {
      const score = logits[token];
      // Codes of other vocabularies may be in the history.
      if (score === undefined) continue;
      logits[token] = score < 0 ? score * repetition_penalty : score / repetition_penalty;
    }
  }
  for (const token of suppress_tokens) if (token < logits.length) logits[token] = Number.NEGATIVE_INFINITY;
  if (options.do_sample === false) return logits;
  if (temperature !== 1) for (let token = 0; token < logits.length; token += 1) logits[token]! /= temperature;
  keepTopK(logits, options.top_k ?? 0);
  keepTopP(logits, options.top_p ?? 1);
  keepMinP(logits, options.min_p ?? 0);
  return logits;
}

/** Index of the largest value, the first of equals. */
export function argmax(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token += 1) if (logits[token]! > logits[best]!) best = token;
  return best;
}

/**
 * Draws a token from one row of logits, which it overwrites. One uniform number per draw, so that a stage that is
 * run again draws the same.
 *
 * @throws RangeError where every token is out, or a logit is NaN.
 */
export function sample(
  logits: Float32Array,
  random: Random,
  options: SamplingOptions = {},
  previous: Iterable<number> = [],
): number {
  processLogits(logits, options, previous);
  const best = argmax(logits);
  if (!Number.isFinite(logits[best]!)) {
    throw new RangeError(
      'No token is left to draw: the logits are not finite, or the settings rule out every token.',
    );
  }
  if (options.do_sample === false) return best;
  const weights = Float64Array.from(logits, (logit) => Math.exp(logit - logits[best]!));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (Number.isNaN(total)) throw new RangeError('The logits hold values that are not numbers.');
  let rest = random.uniform() * total;
  let last = best;
  for (let token = 0; token < weights.length; token += 1) {
    if (weights[token] === 0) continue;
    rest -= weights[token]!;
    last = token;
    if (rest < 0) break;
  }
  return last;
}

function keepTopK(logits: Float32Array, k: number): void {
  if (k === 0 || k >= logits.length) return;
  const threshold = logits.toSorted()[logits.length - k]!;
  for (let token = 0; token < logits.length; token += 1) {
    if (logits[token]! < threshold) logits[token] = Number.NEGATIVE_INFINITY;
  }
}

function keepTopP(logits: Float32Array, p: number): void {
  if (p >= 1) return;
  const order = Array.from(logits.keys())
    .filter((token) => logits[token] !== Number.NEGATIVE_INFINITY)
    .sort((a, b) => logits[a]! - logits[b]! || a - b);
  const largest = logits[order.at(-1) ?? 0]!;
  const weights = order.map((token) => Math.exp(logits[token]! - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let below = 0;
  for (const [rank, token] of order.slice(0, -1).entries()) {
    below += weights[rank]! / total;
    if (below > 1 - p) return;
    logits[token] = Number.NEGATIVE_INFINITY;
  }
}

function keepMinP(logits: Float32Array, minimum: number): void {
  if (minimum <= 0) return;
  const threshold = logits[argmax(logits)]! + Math.log(minimum);
  for (let token = 0; token < logits.length; token += 1) {
    if (logits[token]! < threshold) logits[token] = Number.NEGATIVE_INFINITY;
  }
}

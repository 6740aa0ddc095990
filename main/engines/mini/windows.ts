import type { MiniConfig } from './config.ts';

/** A stretch `[start, end)` of rows that is computed with its surroundings `[from, to)`. */
export interface Window {
  start: number;
  end: number;
  from: number;
  to: number;
}

/**
 * Cut `total` rows into windows of at most `longest` rows, surroundings included.
 *
 * A row's result depends on rows at most `context` away, so every window gives exactly what one pass over all rows
 * would give: long sentences are computed in constant memory and without a seam.
 */
export function windowsOf(total: number, longest: number, context: number): Window[] {
  if (total <= longest) return [{ start: 0, end: total, from: 0, to: total }];
  const core = longest - 2 * context;
  if (core < 1)
    throw new RangeError(`windows of ${longest} rows leave nothing beside a context of ${context}`);
  const count = Math.ceil(total / core);
  return Array.from({ length: count }, (_, i) => {
    const start = Math.floor((i * total) / count);
    const end = Math.floor(((i + 1) * total) / count);
    return { start, end, from: Math.max(0, start - context), to: Math.min(total, end + context) };
  });
}

/** Rows on each side that a result depends on, by network. */
export function receptiveFields(config: MiniConfig): { encoder: number; decoder: number; vocoder: number } {
  const { acoustic, vocoder } = config;
  const reach = (blocks: number, kernel: number) => (blocks * (kernel - 1)) / 2;
  return {
    encoder:
      reach(acoustic.encoder_blocks, acoustic.encoder_kernel) +
      reach(acoustic.duration_blocks, acoustic.duration_kernel),
    decoder: reach(acoustic.decoder_blocks, acoustic.decoder_kernel),
    vocoder: reach(1, vocoder.in_kernel) + reach(vocoder.blocks, vocoder.kernel),
  };
}

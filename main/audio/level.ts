/** Largest absolute value; 0 for no samples. */
export function peak(samples: Float32Array): number {
  let highest = 0;
  for (const value of samples) highest = Math.max(highest, Math.abs(value));
  return highest;
}

/** Root of the mean square; 0 for no samples. */
export function rms(samples: Float32Array): number {
  let sum = 0;
  for (const value of samples) sum += value * value;
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length);
}

/** Decibels relative to full scale; silence is -Infinity. */
export function toDecibels(amplitude: number): number {
  return 20 * Math.log10(amplitude);
}

export function fromDecibels(decibels: number): number {
  return 10 ** (decibels / 20);
}

export interface SilenceOptions {
  sampleRate: number;
  /** Windows whose RMS is below this level (dBFS) are silent. Default -50. */
  thresholdDb?: number;
  /** Shortest silence that counts, seconds. Default 0.2. */
  minSeconds?: number;
}

/** Silent stretches as `[start, end)` in samples, found in windows of 10 ms. */
export function findSilences(samples: Float32Array, options: SilenceOptions): [number, number][] {
  const { sampleRate, thresholdDb = -50, minSeconds = 0.2 } = options;
  const window = Math.max(1, Math.round(sampleRate / 100));
  const limit = fromDecibels(thresholdDb);
  const found: [number, number][] = [];
  let start = -1;
  const close = (end: number) => {
    if (start >= 0 && end - start >= minSeconds * sampleRate) found.push([start, end]);
    start = -1;
  };
  for (let at = 0; at < samples.length; at += window) {
    const silent = rms(samples.subarray(at, at + window)) < limit;
    if (silent && start < 0) start = at;
    if (!silent) close(at);
  }
  close(samples.length);
  return found;
}

/** Scale the first `count` samples from 0 to 1 by a raised cosine, in place. */
export function fadeIn(samples: Float32Array, count: number): void {
  const length = Math.min(count, samples.length);
  for (let i = 0; i < length; i++) samples[i]! *= 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / length);
}

/** Scale the last `count` samples from 1 to 0 by a raised cosine, in place. */
export function fadeOut(samples: Float32Array, count: number): void {
  const length = Math.min(count, samples.length);
  const last = samples.length - 1;
  for (let i = 0; i < length; i++) samples[last - i]! *= 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / length);
}

/** The mean of all channels, a new array (also of one channel). */
export function toMono(channels: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(channels[0]?.length ?? 0);
  for (const channel of channels)
    for (let i = 0; i < out.length; i++) out[i]! += channel[i]! / channels.length;
  return out;
}

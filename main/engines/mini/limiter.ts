/** Below this level nothing is changed. */
const knee = 0.9;

/**
 * Bends peaks above 0.9 so that none reaches full scale, in place. Ordinary speech of the voice stays below 0.5; an
 * extreme pitch does not. Memoryless, so pieces may be cut anywhere.
 */
export function limitPeaks(samples: Float32Array): void {
  const room = 1 - knee;
  for (let i = 0; i < samples.length; i++) {
    const value = samples[i]!;
    const level = Math.abs(value);
    if (level > knee) samples[i] = Math.sign(value) * (knee + room * Math.tanh((level - knee) / room));
  }
}

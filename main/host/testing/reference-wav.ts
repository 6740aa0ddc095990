import { encodeWav } from '../../audio/wav.ts';

/** A voice-like hum as a WAV file. */
export function referenceWav(
  seconds: number,
  {
    sampleRate = 24_000,
    channels = 1,
    level = 0.3,
  }: { sampleRate?: number; channels?: number; level?: number } = {},
): Uint8Array<ArrayBuffer> {
  const samples = Float32Array.from({ length: Math.round(seconds * sampleRate) }, (_, n) => {
    const t = n / sampleRate;
    const syllable = 0.6 - 0.4 * Math.cos(2 * Math.PI * 3 * t);
    return level * syllable * (Math.sin(2 * Math.PI * 140 * t) + 0.5 * Math.sin(2 * Math.PI * 280 * t));
  });
  return new Uint8Array(
    encodeWav(
      Array.from({ length: channels }, () => samples),
      { sampleRate },
    ).bytes,
  );
}

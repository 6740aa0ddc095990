import { MelSpectrogram } from '../../audio/mel.ts';

/** Rate of the speaker encoder's input, samples per second. */
export const speakerRate = 24_000;

const front = new MelSpectrogram({
  sampleRate: speakerRate,
  nFft: 1024,
  hopLength: 256,
  padding: (1024 - 256) / 2,
  nMels: 128,
  fMin: 0,
  fMax: 12_000,
  scale: 'slaney',
  norm: 'slaney',
  power: 1,
  epsilon: 1e-9,
  log: 'ln',
  clamp: 1e-5,
});

/**
 * Logarithmic mel spectrogram as upstream's `mel_spectrogram` for the speaker encoder.
 *
 * @param samples mono at `speakerRate`, at least 385
 * @returns `[frames, 128]`, frame by frame
 */
export function speakerMel(samples: Float32Array): { frames: number; mel: Float32Array } {
  const { frames, mel } = front.transform(samples);
  const rows = new Float32Array(mel.length);
  for (let band = 0; band < front.nMels; band += 1) {
    for (let frame = 0; frame < frames; frame += 1) {
      rows[frame * front.nMels + band] = mel[band * frames + frame]!;
    }
  }
  return { frames, mel: rows };
}

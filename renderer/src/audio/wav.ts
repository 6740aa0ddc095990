export interface WavAudio {
  sampleRate: number;
  frames: number;
  /** Mono samples of the whole file, block by block, so that only one block is ever converted at a time. */
  blocks(framesPerBlock: number): Generator<Float32Array>;
}

/** Reads the host's own WAV files (PCM 16, mono). Throws RangeError on anything else. */
export function readWav(bytes: Uint8Array): WavAudio {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || tag(0) !== 'RIFF' || tag(8) !== 'WAVE') throw new RangeError('Not a WAV file.');
  let sampleRate = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true);
    const body = at + 8;
    if (tag(at) === 'fmt ') {
      const [channels, bits] = [view.getUint16(body + 2, true), view.getUint16(body + 14, true)];
      if (channels !== 1 || bits !== 16)
        throw new RangeError(`A WAV file of ${channels} channels and ${bits} bits.`);
      sampleRate = view.getUint32(body + 4, true);
    } else if (tag(at) === 'data') {
      if (sampleRate === 0) throw new RangeError('A WAV file whose data precede its format.');
      const frames = Math.floor(Math.min(size, bytes.length - body) / 2);
      return {
        sampleRate,
        frames,
        *blocks(framesPerBlock) {
          for (let first = 0; first < frames; first += framesPerBlock) {
            const block = new Float32Array(Math.min(framesPerBlock, frames - first));
            for (let i = 0; i < block.length; i++) {
              block[i] = view.getInt16(body + 2 * (first + i), true) / 32768;
            }
            yield block;
          }
        },
      };
    }
    at = body + size + (size % 2);
  }
  throw new RangeError('A WAV file without data.');
}

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StudioError } from '../../contract/errors.ts';
import { Turns } from '../../turns.ts';
import { type MpegFrames, readMpegFrames } from './mpeg-frames.ts';
import {
  type DecodedAudio,
  DecodeError,
  type DecodeLimits,
  PcmCollector,
  patienceMs,
  TooLong,
} from './pcm.ts';

/** minimp3 as WebAssembly: beside a bundle, beside those of dist/app and dist/bench, or where npm put it (seen from a bundle of tests, and from here). */
const places = [
  './assets/minimp3.wasm',
  '../main/assets/minimp3.wasm',
  '../../node_modules/minimp3-wasm/dist/decoder.opt.wasm',
  '../../../node_modules/minimp3-wasm/dist/decoder.opt.wasm',
];

/** What the module exports. Sizes and places are bytes of its memory. */
interface MiniMp3 {
  memory: WebAssembly.Memory;
  decoder_init(): void;
  decoder_set_mp3_data_size(bytes: number): void;
  decoder_mp3_data_offset(): number;
  decoder_decode(seconds: number): void;
  decoder_pcm_data_offset(): number;
  /** Of all channels together. */
  decode_results_num_samples(): number;
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** What a decoder of layer III adds before the first sample. */
const decoderDelay = 529;

/**
 * Decodes MP3 (MPEG 1, 2 and 2.5, layer III). Noise between frames is skipped, as players do; so is what the
 * encoder added at both ends, where the file says how much.
 *
 * @throws DecodeError, TooLong; StudioError `checkpoint_missing` where the installation lacks its decoder
 */
export async function decodeMp3(file: Uint8Array, limits: DecodeLimits): Promise<DecodedAudio> {
  const frames = readMpegFrames(file.subarray(tagLength(file)));
  if (frames === null) throw new DecodeError('it holds no frame of sound that is whole');
  const { channels, layer, sampleRate, samples } = frames;
  // The decoder was built for layer III; it makes silence of the others.
  if (layer !== 3) throw new DecodeError(`its audio is MPEG layer ${'I'.repeat(layer)}, not MP3`);
  if (2 * channels * samples > limits.bytes) throw new TooLong(samples / sampleRate);
  compiled ??= WebAssembly.compile(readModule());
  const instance = await WebAssembly.instantiate(await compiled, {});
  try {
    return await decodeFrames(instance.exports as unknown as MiniMp3, frames, limits);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
      throw new DecodeError('it cannot be decoded', { cause: error });
    }
    throw error;
  }
}

async function decodeFrames(wasm: MiniMp3, frames: MpegFrames, limits: DecodeLimits): Promise<DecodedAudio> {
  const { bytes, channels, sampleRate, samples, padding } = frames;
  wasm.decoder_init();
  wasm.decoder_set_mp3_data_size(bytes.length);
  new Uint8Array(wasm.memory.buffer).set(bytes, wasm.decoder_mp3_data_offset());
  const collector = new PcmCollector({ sampleRate, channels, bits: 16 }, limits);
  const from = padding === null ? 0 : padding.before + decoderDelay;
  const to =
    padding === null ? samples : Math.max(from, samples - Math.max(0, padding.behind - decoderDelay));
  const turns = new Turns(patienceMs);
  let position = 0;
  while (position < samples) {
    wasm.decoder_decode(0.25);
    const decoded = Math.floor(wasm.decode_results_num_samples() / channels);
    if (decoded <= 0) break;
    const block = new Int16Array(wasm.memory.buffer, wasm.decoder_pcm_data_offset(), decoded * channels);
    const [start, end] = [from, to].map((edge) => Math.min(decoded, Math.max(0, edge - position)));
    collector.addInterleaved(block.subarray(start! * channels, end! * channels));
    position += decoded;
    await turns.take();
  }
  if (collector.frames === 0) throw new DecodeError('it holds no sound');
  return collector.finish([]);
}

/** Of an ID3v2 tag before the audio: its pictures may look like frames. */
export function tagLength(bytes: Uint8Array): number {
  if (bytes.length < 10 || String.fromCharCode(...bytes.subarray(0, 3)) !== 'ID3') return 0;
  const size = bytes.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
  return Math.min(bytes.length, 10 + size + ((bytes[5]! & 16) === 0 ? 0 : 10));
}

function readModule(): Uint8Array<ArrayBuffer> {
  const tried = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = tried.find((path) => existsSync(path));
  if (found !== undefined) return new Uint8Array(readFileSync(found));
  throw new StudioError(
    'checkpoint_missing',
    'The file minimp3.wasm, which MP3 files are read with, is missing from the installation. Install Mizuoto again.',
    {
      params: { path: 'minimp3.wasm', installation: 'minimp3.wasm' },
      detail: `Looked at ${tried.join(', ')}.`,
    },
  );
}

import { StudioError } from '../contract/errors.ts';
import { type ByteSource, fileSource, memorySource } from './byte-source.ts';
import { describeForeign } from './foreign-format.ts';
import {
  bytesPerSample,
  codecNames,
  formatTag,
  unknownLength,
  type WavEncoding,
  type WavInfo,
} from './wav-format.ts';
import { decodeSamples } from './wav-samples.ts';

export interface WavAudio extends WavInfo {
  /** One array per channel, -1..1 for integer encodings, as stored for float ones; length `frames`. */
  samples: Float32Array[];
}

/** Most channels that are accepted: above it the header is damaged, not the studio's limit reached. */
const maxChannels = 256;
const maxSampleRate = 16_000_000;
/** Chunks before the audio; a damaged file could otherwise be walked eight bytes at a time. */
const maxChunks = 10_000;

/** Decode a WAV file held in memory. Errors and rules: `WavReader.open`. */
export async function readWav(bytes: Uint8Array, name?: string): Promise<WavAudio> {
  const reader = await WavReader.open(memorySource(bytes, name));
  return { ...reader.info, samples: await reader.read(0, reader.info.frames) };
}

/**
 * Decode a WAV file from disk.
 *
 * @param maxFrames read no more than this many sample frames per channel
 * @throws StudioError `file_not_found`, `file_unreadable`
 */
export async function readWavFile(path: string, maxFrames = Number.POSITIVE_INFINITY): Promise<WavAudio> {
  const reader = await WavReader.open(await fileSource(path));
  try {
    const frames = Math.min(maxFrames, reader.info.frames);
    const samples = await reader.read(0, frames);
    return { ...reader.info, frames, seconds: frames / reader.info.sampleRate, samples };
  } finally {
    await reader.close();
  }
}

interface Format {
  encoding: WavEncoding;
  channels: number;
  sampleRate: number;
  frameBytes: number;
}

/**
 * Random access to a WAV file of any length: 8/16/24/32-bit PCM, 32/64-bit float, plain or extensible, RIFF or RF64.
 *
 * No length in the file is trusted: what says more than there is, is cut to what is there; lengths that a streaming
 * writer left open (0xFFFFFFFF, or 0 with audio behind it) reach to the end of the file. Each repair is a warning.
 */
export class WavReader {
  private constructor(
    private readonly source: ByteSource,
    readonly info: WavInfo,
    private readonly dataOffset: number,
    private readonly frameBytes: number,
  ) {}

  /** @throws StudioError `file_unreadable` naming the file and what is wrong; the source is closed then. */
  static async open(source: ByteSource): Promise<WavReader> {
    try {
      const warnings: string[] = [];
      const { format, offset, bytes } = await findAudio(source, warnings);
      const frames = Math.floor(bytes / format.frameBytes);
      if (frames * format.frameBytes !== bytes) {
        warnings.push(
          `The last ${bytes - frames * format.frameBytes} bytes are a part of a sample and were left out.`,
        );
      }
      const { encoding, channels, sampleRate } = format;
      const info = { encoding, channels, sampleRate, frames, seconds: frames / sampleRate, warnings };
      return new WavReader(source, info, offset, format.frameBytes);
    } catch (error) {
      await source.close();
      throw error;
    }
  }

  /**
   * @returns one array per channel, `count` samples each (fewer at the end of the file). Values that are not finite
   *   become 0 and are reported in `info.warnings`.
   */
  async read(start: number, count: number): Promise<Float32Array[]> {
    const { channels, encoding, frames } = this.info;
    const total = Math.max(0, Math.min(count, frames - start));
    const out = Array.from({ length: channels }, () => new Float32Array(total));
    const block = Math.max(1, Math.floor(2 ** 20 / this.frameBytes));
    let notFinite = 0;
    for (let done = 0; done < total; done += block) {
      const wanted = Math.min(block, total - done);
      const bytes = await this.source.read(
        this.dataOffset + (start + done) * this.frameBytes,
        wanted * this.frameBytes,
      );
      if (bytes.byteLength < wanted * this.frameBytes)
        throw unreadable(this.source, 'it became shorter while it was read');
      notFinite += decodeSamples(bytes, encoding, out, done, wanted);
    }
    if (notFinite > 0) {
      this.info.warnings.push(`${notFinite} samples were not numbers (NaN or infinite) and became silence.`);
    }
    return out;
  }

  close(): Promise<void> {
    return this.source.close();
  }
}

/** @param format of a file of another kind, which can be converted */
function unreadable(source: ByteSource, why: string, format: string | null = null): StudioError {
  // A command ends without a full stop, so that it can be copied.
  return new StudioError(
    'file_unreadable',
    `"${source.name}" cannot be read as WAV: ${why}${format === null ? '.' : ''}`,
    {
      params: { path: source.name, reason: why, ...(format === null ? {} : { convert: format }) },
    },
  );
}

/** Walk the chunks up to the audio. */
async function findAudio(
  source: ByteSource,
  warnings: string[],
): Promise<{ format: Format; offset: number; bytes: number }> {
  const head = await source.read(0, 64);
  const form = ascii(head, 0);
  if (!['RIFF', 'RF64', 'BW64'].includes(form) || ascii(head, 8) !== 'WAVE') {
    const { why, format } = describeForeign(head, source.size);
    throw unreadable(source, why, format);
  }
  let longData: number | null = null;
  let format: Format | null = null;
  let data: { offset: number; bytes: number } | null = null;
  let at = 12;
  for (let chunks = 0; chunks < maxChunks && !(format && data); chunks++) {
    const header = await source.read(at, 8);
    if (header.byteLength < 8) break;
    const id = ascii(header, 0);
    const declared = view(header).getUint32(4, true);
    const body = at + 8;
    const rest = source.size - body;
    let size = Math.min(declared, rest);
    if (id === 'ds64') {
      const fields = await source.read(body, 16);
      if (fields.byteLength === 16) longData = Number(view(fields).getBigUint64(8, true));
    } else if (id === 'fmt ') {
      format = parseFormat(source, await source.read(body, Math.min(size, 64)), warnings);
    } else if (id === 'data') {
      size = await dataLength(source, body, declared, longData, warnings);
      data = { offset: body, bytes: size };
    }
    at = await nextChunk(source, body + size);
  }
  if (!format)
    throw unreadable(source, 'its "fmt " chunk, which says how the samples are stored, is missing');
  if (!data) throw unreadable(source, 'it holds no "data" chunk, so no audio');
  return { format, ...data };
}

async function dataLength(
  source: ByteSource,
  body: number,
  declared: number,
  longData: number | null,
  warnings: string[],
): Promise<number> {
  const rest = source.size - body;
  if (declared === unknownLength && longData !== null && longData <= rest) return longData;
  if (declared === unknownLength) {
    warnings.push(
      'The header does not say how long the audio is; everything up to the end of the file was read.',
    );
    return rest;
  }
  if (declared > rest) {
    warnings.push(
      `The header announces ${declared} bytes of audio, but only ${rest} are there; those were read.`,
    );
    return rest;
  }
  if (declared === 0 && rest > 0 && !(await looksLikeChunk(source, body))) {
    warnings.push(
      'The header was never completed (length 0); everything up to the end of the file was read.',
    );
    return rest;
  }
  return declared;
}

/** Chunks start at even offsets; some writers forget the padding byte. */
async function nextChunk(source: ByteSource, end: number): Promise<number> {
  if (end % 2 === 0) return end;
  const padded = await looksLikeChunk(source, end + 1);
  return !padded && (await looksLikeChunk(source, end)) ? end : end + 1;
}

async function looksLikeChunk(source: ByteSource, at: number): Promise<boolean> {
  const header = await source.read(at, 8);
  if (header.byteLength < 8) return false;
  const printable = header.subarray(0, 4).every((code) => code >= 0x20 && code < 0x7f);
  return printable && view(header).getUint32(4, true) <= source.size - at - 8;
}

function parseFormat(source: ByteSource, bytes: Uint8Array, warnings: string[]): Format {
  if (bytes.byteLength < 16) {
    throw unreadable(source, `its "fmt " chunk has ${bytes.byteLength} bytes instead of at least 16`);
  }
  const fields = view(bytes);
  let tag = fields.getUint16(0, true);
  const channels = fields.getUint16(2, true);
  const sampleRate = fields.getUint32(4, true);
  const blockAlign = fields.getUint16(12, true);
  const bits = fields.getUint16(14, true);
  if (tag === formatTag.extensible) {
    if (bytes.byteLength < 26) throw unreadable(source, 'its extensible format is cut short');
    tag = fields.getUint16(24, true);
  }
  if (channels < 1 || channels > maxChannels) {
    throw unreadable(source, `it claims ${channels} channels; 1 to ${maxChannels} can be read`);
  }
  if (sampleRate < 1 || sampleRate > maxSampleRate) {
    throw unreadable(source, `it claims a sample rate of ${sampleRate} Hz`);
  }
  if (tag !== formatTag.pcm && tag !== formatTag.float) {
    const codec = codecNames[tag] ?? `format ${tag}`;
    throw unreadable(
      source,
      `its audio is coded as ${codec}; only PCM and float can be read. Convert it first`,
    );
  }
  // Samples of, say, 20 bits lie left-justified in 24: the container counts.
  const container = Math.ceil(bits / 8);
  const encoding = encodingOf(tag, container);
  if (!encoding) {
    throw unreadable(source, `it claims ${bits}-bit ${tag === formatTag.float ? 'float' : 'PCM'} samples`);
  }
  const frameBytes = container * channels;
  if (blockAlign !== frameBytes) {
    warnings.push(
      `The header says ${blockAlign} bytes per sample frame; ${frameBytes} follow from its other fields.`,
    );
  }
  return { encoding, channels, sampleRate, frameBytes };
}

function encodingOf(tag: number, bytes: number): WavEncoding | null {
  const names: WavEncoding[] =
    tag === formatTag.pcm ? ['pcm8', 'pcm16', 'pcm24', 'pcm32'] : ['float32', 'float64'];
  return names.find((name) => bytesPerSample[name] === bytes) ?? null;
}

function ascii(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

import { StudioError } from '../contract/errors.ts';
import { AtomicFile } from './atomic-file.ts';
import { bytesPerSample, formatTag, unknownLength, type WavWriteEncoding } from './wav-format.ts';
import { ditherSource, encodeSamples, type Uniform } from './wav-samples.ts';

export interface WavOptions {
  sampleRate: number;
  encoding?: WavWriteEncoding;
  /** Triangular dither before rounding to integers; off by default, so that equal audio gives equal bytes. */
  dither?: boolean;
  /** Bytes after which a file becomes RF64; only tests lower it. */
  riffLimit?: number;
}

export interface WavReport {
  frames: number;
  bytes: number;
  /** Samples beyond full scale that were cut to it. */
  clipped: number;
  /** Samples that were NaN or infinite. */
  notFinite: number;
}

const maxRiffBytes = 0xffffffff;

/**
 * The header in front of the samples.
 *
 * @param frames sample frames that follow, or null where the length is not known yet (a stream): the lengths are
 *   then 0xFFFFFFFF, which players and this reader take as "up to the end"
 */
export function wavHeader(
  channels: number,
  frames: number | null,
  { sampleRate, encoding = 'pcm16', riffLimit = maxRiffBytes }: WavOptions,
): Uint8Array {
  checkOptions(channels, sampleRate);
  const frameBytes = bytesPerSample[encoding] * channels;
  const float = encoding === 'float32';
  const dataBytes = frames === null ? null : frames * frameBytes;
  const padded = dataBytes === null ? 0 : dataBytes + (dataBytes % 2);
  const plain = float ? 58 : 44;
  const long = dataBytes !== null && plain - 8 + padded > riffLimit;
  const length = plain + (long ? 36 : 0);
  const out = new FieldWriter(length);
  out.ascii(long ? 'RF64' : 'RIFF');
  out.u32(dataBytes === null || long ? unknownLength : length - 8 + padded);
  out.ascii('WAVE');
  if (long) {
    out
      .ascii('ds64')
      .u32(28)
      .u64(length - 8 + padded)
      .u64(dataBytes)
      .u64(frames!)
      .u32(0);
  }
  out.ascii('fmt ').u32(float ? 18 : 16);
  out
    .u16(float ? formatTag.float : formatTag.pcm)
    .u16(channels)
    .u32(sampleRate);
  out
    .u32(sampleRate * frameBytes)
    .u16(frameBytes)
    .u16(bytesPerSample[encoding] * 8);
  if (float) {
    out.u16(0).ascii('fact').u32(4);
    out.u32(frames === null ? unknownLength : Math.min(frames, unknownLength));
  }
  out.ascii('data').u32(dataBytes === null || long ? unknownLength : dataBytes);
  return out.bytes;
}

/** A whole WAV file in memory. `channels`: one array per channel, all of one length, -1..1. */
export function encodeWav(
  channels: readonly Float32Array[],
  options: WavOptions,
): { bytes: Uint8Array; report: WavReport } {
  const frames = checkChannels(channels);
  const header = wavHeader(channels.length, frames, options);
  const samples = encodeSamples(
    channels,
    options.encoding ?? 'pcm16',
    options.dither ? ditherSource() : null,
  );
  const bytes = new Uint8Array(header.length + samples.bytes.length + (samples.bytes.length % 2));
  bytes.set(header);
  bytes.set(samples.bytes, header.length);
  const { clipped, notFinite } = samples;
  return { bytes, report: { frames, bytes: bytes.length, clipped, notFinite } };
}

/**
 * A WAV file that grows on disk while audio is made, in constant memory. Under its final name it appears only when
 * `finish` has completed it; above 4 GiB it becomes RF64.
 */
export class WavFileWriter {
  #frames = 0;
  #clipped = 0;
  #notFinite = 0;
  readonly #dither: Uniform | null;

  private constructor(
    private readonly file: AtomicFile,
    private readonly channels: number,
    private readonly options: WavOptions,
    private readonly headerBytes: number,
  ) {
    this.#dither = options.dither ? ditherSource() : null;
  }

  /** @throws StudioError `output_not_writable`, `disk_full`, `invalid_request` */
  static async create(path: string, channels: number, options: WavOptions): Promise<WavFileWriter> {
    const header = wavHeader(channels, null, options);
    const file = await AtomicFile.create(path);
    try {
      await file.append(header);
    } catch (error) {
      await file.abort();
      throw error;
    }
    return new WavFileWriter(file, channels, options, header.length);
  }

  get frames(): number {
    return this.#frames;
  }

  /** Append `[channels][frames]` samples, -1..1. After an error the file is gone. */
  async append(channels: readonly Float32Array[]): Promise<void> {
    const frames = checkChannels(channels);
    if (channels.length !== this.channels)
      throw new Error(`${channels.length} channels for ${this.channels}`);
    const encoded = encodeSamples(channels, this.options.encoding ?? 'pcm16', this.#dither);
    await this.#guard(() => this.file.append(encoded.bytes));
    this.#frames += frames;
    this.#clipped += encoded.clipped;
    this.#notFinite += encoded.notFinite;
  }

  /** Complete the header and give the file its name. */
  async finish(): Promise<WavReport> {
    await this.#guard(async () => {
      if (this.file.bytes % 2 === 1) await this.file.append(new Uint8Array(1));
      if (this.file.seekable) {
        const header = wavHeader(this.channels, this.#frames, this.options);
        if (header.length > this.headerBytes) await this.#makeRoom(header.length - this.headerBytes);
        await this.file.patch(0, header);
      }
      await this.file.commit();
    });
    const { bytes } = this.file;
    return { frames: this.#frames, bytes, clipped: this.#clipped, notFinite: this.#notFinite };
  }

  /** Give up: nothing stays on disk. Safe after `finish`. */
  abort(): Promise<void> {
    return this.file.abort();
  }

  /** Move the samples back for a longer header: needed once in 25 hours of speech, so the common header stays plain. */
  async #makeRoom(shift: number): Promise<void> {
    const block = 2 ** 22;
    for (let end = this.file.bytes; end > this.headerBytes; ) {
      const start = Math.max(this.headerBytes, end - block);
      await this.file.patch(start + shift, await this.file.read(start, end - start));
      end = start;
    }
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.file.abort();
      throw error;
    }
  }
}

function checkChannels(channels: readonly Float32Array[]): number {
  const frames = channels[0]?.length ?? 0;
  if (channels.some((channel) => channel.length !== frames)) {
    throw new Error(`channels of unequal length: ${channels.map((channel) => channel.length).join(', ')}`);
  }
  return frames;
}

function checkOptions(channels: number, sampleRate: number): void {
  const valid = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  if (!valid(channels, 256) || !valid(sampleRate, 16_000_000)) {
    throw new StudioError(
      'invalid_request',
      `A WAV file cannot have ${channels} channels at ${sampleRate} Hz: 1 to 256 channels and whole rates from 1 Hz.`,
      { params: { channels, sample_rate: sampleRate } },
    );
  }
}

class FieldWriter {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    this.#view = new DataView(this.bytes.buffer);
  }

  ascii(text: string): this {
    for (const char of text) this.#view.setUint8(this.#at++, char.charCodeAt(0));
    return this;
  }

  u16(value: number): this {
    this.#view.setUint16(this.#at, value, true);
    this.#at += 2;
    return this;
  }

  u32(value: number): this {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
    return this;
  }

  u64(value: number): this {
    this.#view.setBigUint64(this.#at, BigInt(value), true);
    this.#at += 8;
    return this;
  }
}

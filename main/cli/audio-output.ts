import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AtomicFile } from '../audio/atomic-file.ts';
import { WavFileWriter, type WavWriteEncoding, wavHeader } from '../audio/wav.ts';
import { encodeSamples } from '../audio/wav-samples.ts';
import { JobAudio } from '../host/audio-store.ts';
import { write } from './terminal.ts';

export interface AudioFormat {
  sampleRate: number;
  encoding: WavWriteEncoding;
}

/** Where the audio of a request goes. `abort` leaves nothing behind and is safe at any time. */
export interface AudioOutput {
  open(format: AudioFormat): Promise<void>;
  append(samples: Float32Array): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/** A file that appears under its name when it is complete. */
export class FileOutput implements AudioOutput {
  #writer: WavFileWriter | null = null;

  private constructor(private readonly path: string) {}

  /** Fails now, not after minutes of computing, where the file cannot be written. */
  static async prepare(path: string): Promise<FileOutput> {
    const probe = await AtomicFile.create(path);
    await probe.abort();
    return new FileOutput(path);
  }

  async open(format: AudioFormat): Promise<void> {
    this.#writer = await WavFileWriter.create(this.path, 1, format);
  }

  async append(samples: Float32Array): Promise<void> {
    await this.#writer!.append([samples]);
  }

  async finish(): Promise<void> {
    await this.#writer!.finish();
  }

  async abort(): Promise<void> {
    await this.#writer?.abort();
  }
}

/** The standard output, as a WAV file with its true length: kept aside until the last sample is there. */
export class StdoutOutput implements AudioOutput {
  #audio: JobAudio | null = null;
  #encoding: WavWriteEncoding = 'pcm16';

  constructor(
    private readonly stdout: NodeJS.WritableStream,
    private readonly folder: string,
  ) {}

  async open({ sampleRate, encoding }: AudioFormat): Promise<void> {
    this.#audio = new JobAudio(sampleRate, this.folder);
    this.#encoding = encoding;
  }

  async append(samples: Float32Array): Promise<void> {
    await this.#audio!.append(samples);
  }

  async finish(): Promise<void> {
    for await (const piece of this.#audio!.wav(this.#encoding)) await write(this.stdout, piece);
    await this.#audio!.dispose();
  }

  async abort(): Promise<void> {
    await this.#audio?.dispose();
  }
}

/**
 * The standard output as soon as audio exists, under a header without a length. A reader slower than the engine (a
 * player) finds the rest waiting on disk, not in memory.
 */
export class StreamOutput implements AudioOutput {
  #audio: JobAudio | null = null;
  #encoding: WavWriteEncoding = 'pcm16';
  #sent = 0;
  #complete = false;
  #sender: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #failure: unknown = null;

  constructor(
    private readonly stdout: NodeJS.WritableStream,
    private readonly folder: string,
  ) {}

  async open({ sampleRate, encoding }: AudioFormat): Promise<void> {
    this.#audio = new JobAudio(sampleRate, this.folder);
    this.#encoding = encoding;
    await write(this.stdout, wavHeader(1, null, { sampleRate, encoding }));
    this.#sender = this.#send().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  async append(samples: Float32Array): Promise<void> {
    if (this.#failure) throw this.#failure;
    await this.#audio!.append(samples);
    this.#wake?.();
  }

  async finish(): Promise<void> {
    this.#end();
    await this.#sender;
    await this.#audio!.dispose();
    if (this.#failure) throw this.#failure;
  }

  async abort(): Promise<void> {
    this.#end();
    await this.#audio?.dispose();
  }

  #end(): void {
    this.#complete = true;
    this.#wake?.();
  }

  async #send(): Promise<void> {
    const audio = this.#audio!;
    for (;;) {
      for await (const block of audio.read(this.#sent)) {
        await write(this.stdout, encodeSamples([block], this.#encoding, null).bytes);
        this.#sent += block.length;
      }
      if (this.#sent < audio.samples) continue;
      if (this.#complete) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** `mizuoto-20250131-174501.wav`, or the same with `-2`, `-3`...: a default never replaces a file. */
export function freeName(folder: string, now = new Date()): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const stem = `mizuoto-${date}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${stem}.wav` : `${stem}-${n}.wav`;
    if (!existsSync(resolve(folder, name))) return name;
  }
}

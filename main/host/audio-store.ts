import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { WavFileWriter, type WavWriteEncoding, wavHeader } from '../audio/wav.ts';
import { encodeSamples } from '../audio/wav-samples.ts';
import { StudioError } from '../contract/index.ts';
import { toErrorBody } from './failures.ts';

const blockSamples = 64 * 1024;

/**
 * The audio of one job. Short audio stays in memory; from `memorySamples` on it moves to a temporary file, so that a
 * book costs no more memory than a sentence.
 */
export class JobAudio {
  #chunks: Float32Array[] = [];
  #file: FileHandle | null = null;
  #path: string | null = null;
  #samples = 0;
  /** Appends in order; a failed one fails everything after it. */
  #tail: Promise<void> = Promise.resolve();
  #disposed = false;

  constructor(
    readonly sampleRate: number,
    private readonly folder: string,
    /** 4 MiB: three quarters of a minute at 24 kHz. */
    private readonly memorySamples = 1024 * 1024,
  ) {}

  get samples(): number {
    return this.#samples;
  }

  get spilled(): boolean {
    return this.#file !== null;
  }

  /** Keeps its own copy. Throws disk_full or output_not_writable. */
  append(samples: Float32Array): Promise<void> {
    const copy = samples.slice();
    this.#tail = this.#tail.then(() => this.#write(copy));
    return this.#tail;
  }

  /** What is there now from sample `from` on: blocks in order, of at most 64 Ki samples when they come from the file. */
  async *read(from = 0): AsyncGenerator<Float32Array> {
    await this.#tail;
    if (!this.#file) {
      let end = 0;
      for (const chunk of [...this.#chunks]) {
        end += chunk.length;
        if (end > from) yield chunk.subarray(Math.max(0, chunk.length - (end - from)));
      }
      return;
    }
    const total = this.#samples;
    for (let start = from; start < total; ) {
      const wanted = Math.min(blockSamples, total - start);
      const block = new Float32Array(wanted);
      const bytes = new Uint8Array(block.buffer);
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await this.#file.read(bytes, done, bytes.length - done, start * 4 + done);
        if (bytesRead === 0) throw new Error('The temporary audio file is shorter than what was written.');
        done += bytesRead;
      }
      yield block;
      start += wanted;
    }
  }

  /** Write a WAV file under `path`: all of it, or nothing. */
  async export(path: string, encoding: WavWriteEncoding): Promise<number> {
    const writer = await WavFileWriter.create(path, 1, { sampleRate: this.sampleRate, encoding });
    try {
      for await (const block of this.read()) await writer.append([block]);
    } catch (error) {
      await writer.abort();
      throw error;
    }
    return (await writer.finish()).bytes;
  }

  /** The WAV file in pieces, header first: for streaming out without holding it. */
  async *wav(encoding: WavWriteEncoding): AsyncGenerator<Uint8Array> {
    await this.#tail;
    yield wavHeader(1, this.#samples, { sampleRate: this.sampleRate, encoding });
    let bytes = 0;
    for await (const block of this.read()) {
      const encoded = encodeSamples([block], encoding, null).bytes;
      bytes += encoded.length;
      yield encoded;
    }
    if (bytes % 2 === 1) yield new Uint8Array(1);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#tail.catch(() => {});
    this.#chunks = [];
    const file = this.#file;
    this.#file = null;
    await file?.close();
    if (this.#path) await unlink(this.#path).catch(() => {});
  }

  async #write(samples: Float32Array): Promise<void> {
    if (this.#disposed) return;
    if (!this.#file && this.#samples + samples.length <= this.memorySamples) {
      this.#chunks.push(samples);
      this.#samples += samples.length;
      return;
    }
    try {
      if (!this.#file) {
        await this.#openFile();
        let at = 0;
        for (const chunk of this.#chunks) at = await this.#writeAt(at, chunk);
        this.#chunks = [];
      }
      await this.#writeAt(this.#samples, samples);
    } catch (error) {
      throw temporaryFailure(this.folder, error);
    }
    this.#samples += samples.length;
  }

  async #writeAt(start: number, samples: Float32Array): Promise<number> {
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file!.write(bytes, done, bytes.length - done, start * 4 + done);
      done += bytesWritten;
    }
    return start + samples.length;
  }

  async #openFile(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await sweep(this.folder);
    const path = join(this.folder, `${process.pid}-${randomBytes(8).toString('hex')}.f32`);
    this.#file = await open(path, 'wx+', 0o600);
    this.#path = path;
    // Where the system allows it the file loses its name at once: then no crash can leave it behind.
    if (process.platform !== 'win32') {
      await unlink(path);
      this.#path = null;
    }
  }
}

/** Files of processes that ended without cleaning up. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(/^(\d+)-[0-9a-f]{16}\.f32$/.exec(name)?.[1]);
    if (!pid || pid === process.pid) continue;
    try {
      process.kill(pid, 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') await unlink(join(folder, name)).catch(() => {});
    }
  }
}

function temporaryFailure(folder: string, error: unknown): StudioError {
  const full = toErrorBody(error).code === 'disk_full';
  const code = full ? 'disk_full' : 'output_not_writable';
  const why = full
    ? 'the disk is full'
    : `the system answered ${(error as NodeJS.ErrnoException).code ?? 'an error'}`;
  return new StudioError(
    code,
    `Long audio could not be kept in ${folder}: ${why}. Free some space there and try again.`,
    { params: { path: folder }, cause: error },
  );
}

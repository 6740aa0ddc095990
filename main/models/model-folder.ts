import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StudioError } from '../contract/index.ts';
import { type FileSign, fileSign } from './file-signs.ts';

/** Configurations are a few kilobytes, vocabularies a few megabytes. */
const maxJsonBytes = 64 * 1024 * 1024;
/** As the format's own readers have it. */
const maxHeaderBytes = 100_000_000;
/** Enough of a file's beginning to tell what it is. */
const headBytes = 512;

/**
 * A folder that may hold a model: small files are read, large ones are looked at. Links are followed, so that a
 * snapshot of the Hugging Face cache is a folder like any other. File names are relative, with `/`.
 */
export class ModelFolder {
  constructor(readonly path: string) {}

  async has(file: string): Promise<boolean> {
    return (await stat(this.#full(file)).catch(() => null))?.isFile() ?? false;
  }

  /** 0 where it is missing. */
  async size(file: string): Promise<number> {
    const found = await stat(this.#full(file)).catch(() => null);
    return found?.isFile() ? found.size : 0;
  }

  /** @throws StudioError `checkpoint_missing`, `checkpoint_invalid` */
  async json(file: string): Promise<unknown> {
    const text = await this.text(file);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw invalid(this.path, file, 'is not JSON, so it was cut or changed', error);
    }
  }

  /** @throws StudioError `checkpoint_missing`, `checkpoint_invalid` */
  async text(file: string): Promise<string> {
    const handle = await this.#open(file);
    try {
      const { size } = await handle.stat();
      if (size > maxJsonBytes)
        throw invalid(this.path, file, `has ${size} bytes, too many for a configuration`);
      const bytes = await handle.readFile();
      const sign = fileSign(file, bytes.subarray(0, headBytes), bytes.length);
      if (sign !== null) throw signed(this.path, file, size, sign);
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (error) {
      if (error instanceof StudioError) throw error;
      throw invalid(this.path, file, 'cannot be read as text', error);
    } finally {
      await handle.close();
    }
  }

  /** What is wrong with one file without reading it whole; null: nothing that shows. */
  async problem(file: string): Promise<StudioError | null> {
    try {
      const handle = await this.#open(file);
      try {
        const { size } = await handle.stat();
        const head = await readAt(handle, 0, headBytes, size);
        const sign =
          fileSign(file, head, size) ??
          (file.endsWith('.safetensors') ? await cutSafetensors(handle, head, size) : null);
        return sign === null ? null : signed(this.path, file, size, sign);
      } finally {
        await handle.close();
      }
    } catch (error) {
      return error instanceof StudioError ? error : invalid(this.path, file, 'cannot be read', error);
    }
  }

  /** Problems of these files, in their order. */
  async problems(files: readonly string[]): Promise<StudioError[]> {
    const found: StudioError[] = [];
    for (const file of files) {
      const problem = await this.problem(file);
      if (problem !== null) found.push(problem);
    }
    return found;
  }

  /**
   * The files of a checkpoint: itself where it is whole, the index and the shards that it names where it is split
   * (`model.safetensors.index.json`). A checkpoint of which there is neither is named as missing by `problems`.
   *
   * @throws StudioError `checkpoint_invalid` for an index that is none
   */
  async checkpointFiles(file: string): Promise<string[]> {
    const index = `${file}.index.json`;
    if ((await this.has(file)) || !(await this.has(index))) return [file];
    const parsed = await this.json(index);
    const map =
      typeof parsed === 'object' && parsed !== null && 'weight_map' in parsed ? parsed.weight_map : null;
    const names = typeof map === 'object' && map !== null ? [...new Set<unknown>(Object.values(map))] : [];
    const base = file.split('/').slice(0, -1);
    const plain = (name: unknown): name is string =>
      typeof name === 'string' && /^[\w.-]+\.safetensors$/.test(name);
    if (names.length === 0 || !names.every(plain)) {
      throw invalid(this.path, index, 'does not name the parts of the checkpoint');
    }
    return [index, ...names.sort().map((name) => [...base, name].join('/'))];
  }

  /** Of the files that are there: bytes together, and a hash that changes when one of them does. */
  async measure(files: readonly string[]): Promise<{ sizeBytes: number; version: string }> {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for (const file of files) {
      const found = await stat(this.#full(file), { bigint: true }).catch(() => null);
      if (!found?.isFile()) continue;
      sizeBytes += Number(found.size);
      hash.update(`${file}\0${found.size}\0${found.mtimeNs}\n`);
    }
    return { sizeBytes, version: hash.digest('hex').slice(0, 32) };
  }

  #full(file: string): string {
    return join(this.path, ...file.split('/'));
  }

  async #open(file: string): Promise<FileHandle> {
    try {
      // A pipe under a file's name must not hang the studio.
      const handle = await open(this.#full(file), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
      if ((await handle.stat()).isFile()) return handle;
      await handle.close();
      throw invalid(this.path, file, 'is not a file');
    } catch (error) {
      if (error instanceof StudioError) throw error;
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (code === 'ENOENT' || code === 'ENOTDIR') throw missing(this.path, file, error);
      if (code === 'EISDIR') throw invalid(this.path, file, 'is not a file', error);
      if (code === 'ELOOP') throw invalid(this.path, file, 'is a link that leads in a circle', error);
      throw invalid(this.path, file, `cannot be opened (${code || 'unknown reason'})`, error);
    }
  }
}

async function readAt(handle: FileHandle, offset: number, length: number, size: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
  return buffer.subarray(0, bytesRead);
}

/** A safetensors file is a length, a JSON header of that length, and tensors up to the last offset that it names. */
async function cutSafetensors(handle: FileHandle, head: Uint8Array, size: number): Promise<FileSign | null> {
  const length = Number(new DataView(head.buffer, head.byteOffset, 8).getBigUint64(0, true));
  if (length > maxHeaderBytes || head[8] !== 0x7b) return { why: 'is not a safetensors file', sign: null };
  if (8 + length > size) return cut(size, 8 + length);
  const header = new TextDecoder().decode(await readAt(handle, 8, length, size));
  let end = 0;
  try {
    for (const [name, tensor] of Object.entries(JSON.parse(header) as Record<string, unknown>)) {
      if (name === '__metadata__') continue;
      const offsets = (tensor as { data_offsets?: unknown }).data_offsets;
      if (Array.isArray(offsets) && typeof offsets[1] === 'number') end = Math.max(end, offsets[1]);
    }
  } catch {
    return { why: 'has a header that is not JSON', sign: null };
  }
  return 8 + length + end > size ? cut(size, 8 + length + end) : null;
}

function cut(size: number, whole: number): FileSign {
  return { why: `was cut off: it has ${size} of at least ${whole} bytes`, sign: 'cut', whole };
}

function signed(folder: string, file: string, size: number, { why, sign, whole }: FileSign): StudioError {
  const error = invalid(folder, file, why);
  const known = sign === null ? {} : { [sign]: file, size, ...(whole === undefined ? {} : { whole }) };
  return new StudioError(error.code, error.message, { params: { ...error.params, ...known } });
}

function missing(folder: string, file: string, cause: unknown): StudioError {
  return new StudioError(
    'checkpoint_missing',
    `The file "${file}" is missing in "${folder}". Download it again.`,
    {
      params: { file, path: folder },
      cause,
    },
  );
}

function invalid(folder: string, file: string, why: string, cause?: unknown): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `The file "${file}" in "${folder}" ${why}. Download it again.`,
    { params: { file, path: folder, reason: why }, ...(cause === undefined ? {} : { cause }) },
  );
}

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StudioError } from '../contract/index.ts';
import { type FileSign, fileSign } from './file-signs.ts';
import { readAt, type StoredTensor, safetensorsHeader } from './safetensors-header.ts';

/** Configurations are a few kilobytes, vocabularies a few megabytes. */
const maxJsonBytes = 64 * 1024 * 1024;
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
    const found = await this.#look(file);
    return found instanceof StudioError ? found : null;
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

  /**
   * What the headers of a checkpoint say, be it whole or split. Reads no tensor.
   *
   * @throws StudioError as `problem`, and `checkpoint_invalid` for a part that lacks what its index names
   */
  async tensors(file: string): Promise<StoredTensor[]> {
    const [first, ...parts] = await this.checkpointFiles(file);
    if (parts.length === 0) return this.#header(first!);
    const { weight_map: map } = (await this.json(first!)) as { weight_map: Record<string, string> };
    const all: StoredTensor[] = [];
    for (const part of parts) {
      const tensors = await this.#header(part);
      const names = new Set(tensors.map(({ name }) => name));
      const wanted = Object.keys(map).filter((name) => map[name] === part.split('/').at(-1));
      const lacks = wanted.filter((name) => !names.has(name));
      if (lacks.length > 0) throw wrongPart(this.path, part, { index: first!, wanted, lacks });
      all.push(...tensors);
    }
    return all;
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

  async #header(file: string): Promise<StoredTensor[]> {
    const found = await this.#look(file);
    if (found instanceof StudioError) throw found;
    return found;
  }

  /** The tensors of a checkpoint's file (of any other: none), or what is wrong with it. */
  async #look(file: string): Promise<StoredTensor[] | StudioError> {
    try {
      const handle = await this.#open(file);
      try {
        const { size } = await handle.stat();
        const head = await readAt(handle, 0, headBytes, size);
        const sign = fileSign(file, head, size);
        if (sign !== null) return signed(this.path, file, size, sign);
        const found = file.endsWith('.safetensors') ? await safetensorsHeader(handle, head, size) : [];
        return Array.isArray(found) ? found : signed(this.path, file, size, found);
      } finally {
        await handle.close();
      }
    } catch (error) {
      return error instanceof StudioError ? error : invalid(this.path, file, 'cannot be read', error);
    }
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

function signed(folder: string, file: string, size: number, { why, sign, whole }: FileSign): StudioError {
  const error = invalid(folder, file, why);
  const known = sign === null ? {} : { [sign]: file, size, ...(whole === undefined ? {} : { whole }) };
  return new StudioError(error.code, error.message, { params: { ...error.params, ...known } });
}

/** A part of another model, or of another version of this one. */
function wrongPart(
  folder: string,
  part: string,
  { index, wanted, lacks }: { index: string; wanted: readonly string[]; lacks: readonly string[] },
): StudioError {
  const shown = `${lacks.slice(0, 3).join(', ')}${lacks.length > 3 ? ', ...' : ''}`;
  const error = invalid(
    folder,
    part,
    `lacks ${lacks.length} of the ${wanted.length} tensors that ${index} looks for in it (${shown})`,
  );
  const known = { wrong_part: part, index, lacks: lacks.length, wanted: wanted.length, examples: shown };
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

import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../contract/errors.ts';
import { fileReason } from '../settings/file-reason.ts';

const diskFull = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const busy = new Set(['EPERM', 'EACCES', 'EBUSY']);

/** Temporary files of this thread that are neither renamed nor removed yet. */
const unfinished = new Set<string>();

/** For a program that has to end at once: what `abort` would have removed goes now. */
export function removeUnfinishedFiles(): void {
  for (const temporary of unfinished) {
    try {
      unlinkSync(temporary);
    } catch {
      // Not made yet, or gone already.
    }
  }
  unfinished.clear();
}

/** Pieces of a file in order. */
export type ByteChunks = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Write a file so that `target` holds either its old content or the whole new one, never a part.
 *
 * The bytes go to a file with a unique name beside the target, are flushed to disk, and the file is renamed.
 * Two writers of one target do not disturb each other; the last to finish wins. Returns the bytes written.
 * A target that is a device or a pipe is written directly.
 *
 * @throws StudioError `disk_full`, `output_not_writable`; whatever `chunks` throws is passed on. No file is left.
 */
export async function writeFileAtomic(target: string, chunks: ByteChunks): Promise<number> {
  const file = await AtomicFile.create(target);
  try {
    for await (const chunk of chunks instanceof Uint8Array ? [chunks] : chunks) await file.append(chunk);
    await file.commit();
    return file.bytes;
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** The unfinished file behind `writeFileAtomic`, for writers that come back to patch what they wrote. */
export class AtomicFile {
  #handle: FileHandle | null;
  #end = 0;

  private constructor(
    /** Where the finished file will be: links resolved. */
    readonly target: string,
    /** Where the bytes are now. */
    readonly temporary: string,
    handle: FileHandle,
    /** False for devices and pipes, which cannot be patched. */
    readonly seekable: boolean,
  ) {
    this.#handle = handle;
  }

  /** @throws StudioError `disk_full`, `output_not_writable` */
  static async create(target: string): Promise<AtomicFile> {
    try {
      const existing = await stat(target).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
      if (existing?.isDirectory()) throw Object.assign(new Error('is a folder'), { code: 'EISDIR' });
      if (existing && !existing.isFile()) {
        return new AtomicFile(target, target, await open(target, 'w'), false);
      }
      const final = existing ? await realpath(target) : path.resolve(target);
      const name = `.${path.basename(final).slice(0, 40)}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
      const temporary = path.join(path.dirname(final), name);
      unfinished.add(temporary);
      // 'wx+': never follows or reuses what someone else put under this name.
      const mode = existing ? existing.mode & 0o777 : 0o666;
      const handle = await open(temporary, 'wx+', mode).catch((error: unknown) => {
        unfinished.delete(temporary);
        throw error;
      });
      return new AtomicFile(final, temporary, handle, true);
    } catch (error) {
      throw writeError(target, error);
    }
  }

  /** Bytes appended so far. */
  get bytes(): number {
    return this.#end;
  }

  async append(chunk: Uint8Array): Promise<void> {
    await this.#write(chunk, this.#end);
    this.#end += chunk.byteLength;
  }

  /** Overwrite bytes that were appended before. */
  async patch(position: number, chunk: Uint8Array): Promise<void> {
    await this.#write(chunk, position);
    this.#end = Math.max(this.#end, position + chunk.byteLength);
  }

  /** Read back bytes that were appended before. */
  async read(position: number, length: number): Promise<Uint8Array> {
    const buffer = new Uint8Array(length);
    const { bytesRead } = await this.#open().read(buffer, 0, length, position);
    return buffer.subarray(0, bytesRead);
  }

  /** Flush, close and rename to the final name. */
  async commit(): Promise<void> {
    const handle = this.#open();
    try {
      if (this.seekable) await handle.sync();
      this.#handle = null;
      await handle.close();
      if (!this.seekable) return;
      await renameOver(this.temporary, this.target);
      unfinished.delete(this.temporary);
      await syncFolder(path.dirname(this.target));
    } catch (error) {
      await this.abort();
      throw writeError(this.target, error);
    }
  }

  /** Close and remove what was written. Safe to call at any time; after `commit` it does nothing. */
  async abort(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close().catch(() => {});
    if (!this.seekable) return;
    await unlink(this.temporary).catch(() => {});
    unfinished.delete(this.temporary);
  }

  #open(): FileHandle {
    if (!this.#handle) throw new Error(`${this.target}: the file is closed`);
    return this.#handle;
  }

  async #write(chunk: Uint8Array, position: number): Promise<void> {
    const handle = this.#open();
    try {
      let done = 0;
      while (done < chunk.byteLength) {
        const at = this.seekable ? position + done : null;
        const { bytesWritten } = await handle.write(chunk, done, chunk.byteLength - done, at);
        if (bytesWritten === 0) throw Object.assign(new Error('no byte was written'), { code: 'ENOSPC' });
        done += bytesWritten;
      }
    } catch (error) {
      throw writeError(this.target, error);
    }
  }
}

/** Windows refuses to replace a file that a scanner or player holds for a moment: try again for about a second. */
async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rename(from, to);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (process.platform !== 'win32' || attempt === 8 || !busy.has(code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10 * 2 ** Math.min(attempt, 5)));
    }
  }
}

/** Make the new name itself survive a power cut. Not every system can open a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

function writeError(target: string, error: unknown): StudioError {
  if (error instanceof StudioError) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const shown = target.replaceAll('\0', '\\0');
  const options = { detail: message, cause: error };
  if (diskFull.has(code)) {
    return new StudioError('disk_full', `"${shown}" was not written: the disk is full. Free some space.`, {
      params: { path: shown },
      ...options,
    });
  }
  const reason = fileReason(error, 'writing');
  return new StudioError(
    'output_not_writable',
    `"${shown}" was not written: ${reason}. Choose another place.`,
    { params: { path: shown, reason }, ...options },
  );
}

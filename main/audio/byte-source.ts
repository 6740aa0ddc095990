import { type FileHandle, open } from 'node:fs/promises';
import { StudioError } from '../contract/errors.ts';

/** Bytes that are read by position: a file or memory. */
export interface ByteSource {
  /** For messages. */
  readonly name: string;
  readonly size: number;
  /** Up to `length` bytes at `offset`; fewer only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export function memorySource(bytes: Uint8Array, name = 'audio'): ByteSource {
  return {
    name,
    size: bytes.byteLength,
    read: async (offset, length) => bytes.subarray(offset, Math.min(offset + length, bytes.byteLength)),
    close: async () => {},
  };
}

/** @throws StudioError `file_not_found`, `file_unreadable` */
export async function fileSource(path: string): Promise<ByteSource> {
  let handle: FileHandle | undefined;
  const failed = async (error: unknown) => {
    await handle?.close().catch(() => {});
    return readError(path, error);
  };
  try {
    handle = await open(path, 'r');
    const status = await handle.stat();
    if (!status.isFile()) throw Object.assign(new Error('not a file'), { code: 'EISDIR' });
    return new FileSource(path, status.size, handle);
  } catch (error) {
    throw await failed(error);
  }
}

class FileSource implements ByteSource {
  constructor(
    readonly name: string,
    readonly size: number,
    private readonly handle: FileHandle,
  ) {}

  async read(offset: number, length: number): Promise<Uint8Array> {
    const buffer = new Uint8Array(Math.max(0, Math.min(length, this.size - offset)));
    let done = 0;
    try {
      while (done < buffer.length) {
        const { bytesRead } = await this.handle.read(buffer, done, buffer.length - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
    } catch (error) {
      throw readError(this.name, error);
    }
    return buffer.subarray(0, done);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

const reasons: Record<string, string> = {
  EACCES: 'there is no permission to read it',
  EPERM: 'there is no permission to read it',
  EISDIR: 'it is not a file',
  ELOOP: 'its links go in a circle',
  ENAMETOOLONG: 'the name is too long',
  ERR_INVALID_ARG_VALUE: 'the name holds characters that no file name can have',
};

function readError(path: string, error: unknown): StudioError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const shown = path.replaceAll('\0', '\\0');
  const options = { params: { path: shown }, detail: message, cause: error };
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new StudioError('file_not_found', `"${shown}" does not exist. Check the path.`, options);
  }
  const reason = reasons[code] ?? `the system answered ${code || message}`;
  return new StudioError('file_unreadable', `"${shown}" was not read: ${reason}.`, options);
}

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { maxAudioBytes } from '../contract/index.ts';
import { fileReason } from '../settings/file-reason.ts';
import { CommandError } from './messages.ts';
import type { Surroundings } from './terminal.ts';

/**
 * An audio file as it is; whether it is one is the host's to say.
 *
 * @throws CommandError `file_not_found`, `file_unreadable`
 */
export async function readAudio(
  path: string,
  { cwd }: Pick<Surroundings, 'cwd'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const shown = path.replaceAll('\0', '\\0');
  let handle: FileHandle | null = null;
  try {
    // A pipe without a writer must not wait for ever.
    handle = await open(resolve(cwd, path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const info = await handle.stat();
    if (info.isDirectory()) throw new CommandError('file_unreadable', 'audioIsFolder', { path: shown });
    if (!info.isFile()) {
      throw new CommandError('file_unreadable', 'audioNoFile', { path: shown });
    }
    if (info.size > maxAudioBytes) {
      const [bytes, limit] = [info.size, maxAudioBytes].map((size) => Math.ceil(size / 2 ** 20));
      throw new CommandError('file_unreadable', 'audioTooLarge', {
        path: shown,
        bytes: bytes!,
        limit: limit!,
      });
    }
    return new Uint8Array(await handle.readFile());
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    const values = { path: shown, reason: fileReason(error, 'reading') };
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new CommandError('file_not_found', 'audioNotFound', values);
    }
    if (code === 'EISDIR') throw new CommandError('file_unreadable', 'audioIsFolder', values);
    throw new CommandError('file_unreadable', 'audioUnreadable', values, { cause: error });
  } finally {
    await handle?.close();
  }
}

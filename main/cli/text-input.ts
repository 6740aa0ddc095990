import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { type ErrorCode, maxTextLength } from '../contract/index.ts';
import { fileReason } from '../settings/file-reason.ts';
import type { Parsed } from './arguments.ts';
import type { MessageKey } from './messages.en.ts';
import { CommandError, type Params } from './messages.ts';
import type { Surroundings } from './terminal.ts';

/** A text of the longest length in UTF-8 at its widest. */
const maxBytes = maxTextLength * 3;
/** MiB, as it is said. */
const limit = Math.floor((10 * maxBytes) / 2 ** 20) / 10;

/** The text to speak: arguments, `--file F`, or the standard input when it is a pipe or asked for by `-`. */
export async function readText(parsed: Parsed, { stdin, cwd, signal }: Surroundings): Promise<string> {
  const { positionals, strings } = parsed;
  const given = positionals.join(' ');
  if (strings.file !== undefined && positionals.length > 0)
    throw new CommandError('invalid_request', 'twoTexts');
  if (
    strings.file === '-' ||
    given === '-' ||
    (strings.file === undefined && positionals.length === 0 && !stdin.isTTY)
  ) {
    return decode(await collect(endedBy(signal, stdin), null), null);
  }
  if (strings.file !== undefined) return readTextFile(strings.file, cwd);
  if (positionals.length === 0) throw new CommandError('text_empty', 'noText');
  // Node puts U+FFFD where an argument's bytes are not UTF-8: nobody means to speak it.
  const broken = given.indexOf('\ufffd');
  if (broken >= 0) throw new CommandError('text_malformed', 'argumentNotText', { position: broken + 1 });
  return given;
}

/** A pipe may stay open for ever. */
function endedBy<T extends NodeJS.ReadableStream>(signal: AbortSignal, stream: T): T {
  if (stream instanceof Readable) addAbortSignal(signal, stream);
  return stream;
}

async function readTextFile(path: string, folder: string): Promise<string> {
  try {
    const file = resolve(folder, path);
    const info = await stat(file);
    if (info.isDirectory()) throw new CommandError('file_unreadable', 'fileIsFolder', { path: shown(path) });
    return decode(await collect(createReadStream(file), path), path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    const values = { path: shown(path), reason: fileReason(error, 'reading') };
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new CommandError('file_not_found', 'fileNotFound', values);
    throw new CommandError('file_unreadable', 'fileUnreadable', values, { cause: error });
  }
}

const shown = (path: string): string => path.replaceAll('\0', '\\0');

/** `path`: null for the standard input. */
async function collect(stream: NodeJS.ReadableStream, path: string | null): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk);
    chunks.push(buffer);
    bytes += buffer.length;
    // An endless source stops here, not when memory ends.
    if (bytes > maxBytes) throw about(path, 'text_too_long', ['fileTooLong', 'inputTooLong'], { limit });
  }
  return Buffer.concat(chunks);
}

/** UTF-8, or UTF-16 where a byte order mark says so (Windows' editors). A mark is not spoken. */
function decode(bytes: Uint8Array, path: string | null): string {
  const [a, b] = bytes;
  const encoding = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    const position = encoding === 'utf-8' ? firstBadByte(bytes) : bytes.length;
    throw about(path, 'file_not_text', ['fileNotText', 'inputNotText'], { position }, error);
  }
}

/** Said of a file by its name, or of the standard input. */
function about(
  path: string | null,
  code: ErrorCode,
  [ofFile, ofInput]: [MessageKey, MessageKey],
  values: Params,
  cause?: unknown,
): CommandError {
  if (path === null) return new CommandError(code, ofInput, values, { cause });
  return new CommandError(code, ofFile, { path: shown(path), ...values }, { cause });
}

/** Position, counted from 1, of the first byte of what is not valid UTF-8. */
function firstBadByte(bytes: Uint8Array): number {
  // `stream`: a character cut at the end is no error yet.
  const decodes = (length: number, stream: boolean) => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length), { stream });
      return true;
    } catch {
      return false;
    }
  };
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (decodes(middle, true)) low = middle;
    else high = middle - 1;
  }
  // Back to where the unfinished character begins.
  while (!decodes(low, false)) low--;
  return low + 1;
}

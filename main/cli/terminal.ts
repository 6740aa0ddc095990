import type { Said } from '../contract/index.ts';
import type { Messages } from './messages.ts';

/** What a command may touch of the outside: real streams in the program, made-up ones in tests. */
export interface Surroundings {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  cwd: string;
  messages: Messages;
  quiet: boolean;
  verbose: boolean;
  json: boolean;
  /** Aborted by Ctrl-C, by a request to end, and when nobody reads our output any more. */
  signal: AbortSignal;
}

/** `verify` found a difference, or `doctor` something broken: the output says what. */
export const checkFailedExit = 11;

/** Resolves when the bytes are taken, so that a slow reader slows the writer down instead of filling memory. */
export function write(stream: NodeJS.WritableStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

export function printJson(around: Surroundings, value: unknown): Promise<void> {
  return write(around.stdout, `${JSON.stringify(value)}\n`);
}

export function print(around: Surroundings, text: string): Promise<void> {
  return write(around.stdout, `${text}\n`);
}

/** Remarks go beside the output and never into it. */
export function remark(around: Surroundings, text: string): void {
  if (!around.quiet) around.stderr.write(`mizuoto: ${text}\n`);
}

/** Warnings are for everyone; the rest of the log, and errors that the command reports anyway, for who asks. */
export function remarkLogLine(
  level: 'info' | 'warning' | 'error',
  message: string,
  around: Surroundings,
  said?: Said,
): void {
  const text = said === undefined ? message : around.messages.said(said);
  if (level === 'warning') remark(around, around.messages.get('warning', { message: harmless(text) }));
  else if (around.verbose) remark(around, `${level}: ${harmless(message)}`);
}

/** Cells a text takes on a terminal: East Asian wide characters take two, combining ones none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/\p{Mark}|\p{Cf}/u.test(character)) continue;
    const wide =
      /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/;
    width +=
      wide.test(character) || /\p{Emoji_Presentation}/u.test(character) || character >= '\u{20000}' ? 2 : 1;
  }
  return width;
}

/** Columns under headings, padded by display width; the last column is ragged. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column]!)].map(displayWidth)),
  );
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) =>
          column === row.length - 1 ? cell : cell + ' '.repeat(widths[column]! - displayWidth(cell)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `3725` -> `1:02:05`, `65` -> `1:05`, `4` -> `0:04`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const [hours, minutes, rest] = parts as [number, number, number];
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** A control character in text from outside could steer the terminal: shown, not sent. */
export function harmless(text: string): string {
  return text.replace(
    /(?![\n\t])\p{Cc}/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

import { z } from 'zod';
import { type EventName, eventNames } from './calls.ts';

/**
 * The contract over HTTP, for the studio in a browser. Pure: the page and the server share this file.
 *
 *   POST /studio/call/<name>   request as JSON; answers JSON, or one wire message where the response holds audio
 *   GET  /studio/events        never ends; a body of frames, each one event as a wire message
 *   POST /studio/download      `{ job_id, encoding, suggested_name }` -> `{ url }`, usable once within a minute
 *   GET  /studio/download/<t>  the WAV file as an attachment
 *   GET  /api/v1/runtime       the runtime's state as plain JSON (`runtimeReportSchema`), for programs and monitors
 *   everything else            files of the renderer
 *
 * Each `/studio/` request but the download, and each `/api/` request, carries `Authorization: Bearer <token>`. The token reaches the page in the
 * fragment of its address (`#token=...`), which browsers never send. A failure is `{ error: ErrorBody }` as JSON.
 */
export const wirePaths = {
  call: '/studio/call/',
  events: '/studio/events',
  download: '/studio/download',
  runtime: '/api/v1/runtime',
} as const;

/** Content type of a response that is one wire message, and of the event stream. */
export const wireContentType = 'application/vnd.mizuoto.wire';
export const tokenFragment = 'token';

export const downloadRequestSchema = z.strictObject({
  job_id: z.string(),
  encoding: z.enum(['pcm16', 'pcm24', 'pcm32', 'float32']).default('pcm16'),
  suggested_name: z.string().min(1).max(200),
});
export type DownloadRequest = z.input<typeof downloadRequestSchema>;

/** One message of the event stream; `hello` comes first, `beat` every 15 s so that a dead link is noticed. */
export type StreamMessage =
  | { type: 'hello'; pid: number }
  | { type: 'beat' }
  | { type: 'event'; name: EventName; data: unknown };

function isStreamMessage(value: unknown): value is StreamMessage {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  if (value.type === 'beat') return true;
  if (value.type === 'hello') return 'pid' in value && typeof value.pid === 'number';
  return (
    value.type === 'event' &&
    'data' in value &&
    'name' in value &&
    eventNames.includes(value.name as EventName)
  );
}

/**
 * A wire message: `u32 header length | header as UTF-8 JSON | padding to 8 | parts, each padded to 8`, little endian.
 * The header is `{ body, parts: [{ path, kind, offset, length }] }`: typed arrays leave the body as `null` and are
 * put back at `path`. Lengths are elements, offsets are bytes from the first part.
 */
interface Part {
  path: (string | number)[];
  kind: 'f32' | 'u8';
  offset: number;
  length: number;
}

const partSchema = z.object({
  path: z.array(z.union([z.string(), z.number().int().nonnegative()])),
  kind: z.enum(['f32', 'u8']),
  offset: z.number().int().nonnegative().multipleOf(8),
  length: z.number().int().nonnegative(),
});
const headerSchema = z.object({ body: z.unknown(), parts: z.array(partSchema) });

const align = (value: number): number => (value + 7) & ~7;

/** True where a value holds a typed array, that is, where JSON alone cannot carry it. */
export function holdsBinary(value: unknown): boolean {
  if (value instanceof Float32Array || value instanceof Uint8Array) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsBinary);
}

/** Any JSON value with Float32Array and Uint8Array anywhere in it -> bytes. */
export function encodeWire(value: unknown): Uint8Array<ArrayBuffer> {
  const parts: Part[] = [];
  const payloads: Uint8Array[] = [];
  let end = 0;
  const strip = (node: unknown, path: (string | number)[]): unknown => {
    if (node instanceof Float32Array || node instanceof Uint8Array) {
      parts.push({
        path,
        kind: node instanceof Float32Array ? 'f32' : 'u8',
        offset: end,
        length: node.length,
      });
      payloads.push(new Uint8Array(node.buffer, node.byteOffset, node.byteLength));
      end = align(end + node.byteLength);
      return null;
    }
    if (Array.isArray(node)) return node.map((item, index) => strip(item, [...path, index]));
    if (typeof node === 'object' && node !== null) {
      return Object.fromEntries(
        Object.entries(node).map(([key, item]) => [key, strip(item, [...path, key])]),
      );
    }
    return node;
  };
  const body = strip(value, []);
  const header = new TextEncoder().encode(JSON.stringify({ body, parts }));
  const first = align(4 + header.length);
  const bytes = new Uint8Array(first + end);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  for (const [index, payload] of payloads.entries()) bytes.set(payload, first + parts[index]!.offset);
  return bytes;
}

/** The inverse. Throws RangeError on bytes that are not a wire message. Typed arrays own their memory. */
export function decodeWire(bytes: Uint8Array): unknown {
  const bad = (why: string) => new RangeError(`Not a wire message: ${why}.`);
  if (bytes.length < 4) throw bad(`${bytes.length} bytes are too few`);
  const headerLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const first = 4 + headerLength > bytes.length ? -1 : (4 + headerLength + 7) & ~7;
  if (first < 0) throw bad(`a header of ${headerLength} bytes in ${bytes.length}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(4, 4 + headerLength)),
    );
  } catch {
    throw bad('its header is not JSON');
  }
  const header = headerSchema.safeParse(parsed);
  if (!header.success) throw bad('its header has the wrong shape');
  let { body } = header.data;
  for (const part of header.data.parts) {
    const size = part.length * (part.kind === 'f32' ? 4 : 1);
    const start = first + part.offset;
    if (start + size > bytes.length) throw bad(`a part ends at ${start + size} of ${bytes.length} bytes`);
    const copy = bytes.slice(start, start + size);
    const array = part.kind === 'f32' ? new Float32Array(copy.buffer) : copy;
    if (part.path.length === 0) body = array;
    else if (!setOwn(body, part.path, array)) throw bad(`no place for the part at ${part.path.join('.')}`);
  }
  return body;
}

/** Only a place that exists as an own property and holds null: a path can never reach a prototype. */
function setOwn(root: unknown, path: (string | number)[], value: unknown): boolean {
  let node: unknown = root;
  for (const [index, key] of path.entries()) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false;
    const holder = node as Record<string | number, unknown>;
    if (index < path.length - 1) node = holder[key];
    else if (holder[key] !== null) return false;
    else holder[key] = value;
  }
  return true;
}

/** A frame of the event stream: `u32 length | wire message`. */
export function encodeFrame(message: StreamMessage): Uint8Array<ArrayBuffer> {
  const wire = encodeWire(message);
  const frame = new Uint8Array(4 + wire.length);
  new DataView(frame.buffer).setUint32(0, wire.length, true);
  frame.set(wire, 4);
  return frame;
}

/** Bytes in as they arrive, whole messages out. Throws RangeError on a frame above `limit` bytes. */
export class FrameReader {
  #chunks: Uint8Array[] = [];
  #held = 0;
  /** Bytes without which nothing can be read: chunks are joined once per frame, not once per chunk. */
  #wanted = 4;
  readonly #limit: number;

  constructor(limit = 64 * 1024 * 1024) {
    this.#limit = limit;
  }

  push(chunk: Uint8Array): StreamMessage[] {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) return [];
    const bytes = new Uint8Array(this.#held);
    let end = 0;
    for (const piece of this.#chunks) {
      bytes.set(piece, end);
      end += piece.length;
    }
    const messages: StreamMessage[] = [];
    let at = 0;
    this.#wanted = 4;
    while (end - at >= 4) {
      const length = new DataView(bytes.buffer, at).getUint32(0, true);
      if (length > this.#limit) throw new RangeError(`A frame of ${length} bytes is above ${this.#limit}.`);
      if (end - at - 4 < length) {
        this.#wanted = 4 + length;
        break;
      }
      const message = decodeWire(bytes.subarray(at + 4, at + 4 + length));
      if (isStreamMessage(message)) messages.push(message);
      at += 4 + length;
    }
    this.#chunks = [bytes.slice(at)];
    this.#held = end - at;
    return messages;
  }
}

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PromptArrays } from './voice-prompts.ts';

/**
 * A prepared prompt as bytes: `MZVP | u32 header length | header as JSON | arrays, little endian`. The header names the
 * key it belongs to and the SHA-256 of what follows.
 */
const magic = 'MZVP1\n\0\0';
const maxHeaderBytes = 64 * 1024;

const headerSchema = z.object({
  key: z.string(),
  sha256: z.string(),
  arrays: z
    .array(
      z.object({ name: z.string(), kind: z.enum(['f32', 'i32']), length: z.number().int().nonnegative() }),
    )
    .max(256),
});

/** Pieces of the file, in order. */
export function encodePrompt(key: string, arrays: PromptArrays): Uint8Array[] {
  const entries = Object.entries(arrays);
  const payload = entries.map(
    ([, array]) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  );
  const hash = createHash('sha256');
  for (const piece of payload) hash.update(piece);
  const header = Buffer.from(
    JSON.stringify({
      key,
      sha256: hash.digest('hex'),
      arrays: entries.map(([name, array]) => ({
        name,
        kind: array instanceof Float32Array ? 'f32' : 'i32',
        length: array.length,
      })),
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  return [Buffer.from(magic, 'latin1'), length, header, ...payload];
}

/** Null for anything but a whole, unchanged file of that key. */
export function decodePrompt(
  bytes: Uint8Array,
  key: string,
): Record<string, Float32Array | Int32Array> | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < 12 || buffer.toString('latin1', 0, 8) !== magic) return null;
  const headerLength = buffer.readUInt32LE(8);
  const start = 12 + headerLength;
  if (headerLength > maxHeaderBytes || start > buffer.length) return null;
  const header = readHeader(buffer.toString('utf8', 12, start));
  if (header === null || header.key !== key) return null;
  const total = header.arrays.reduce((sum, { length }) => sum + 4 * length, 0);
  if (start + total !== buffer.length) return null;
  if (createHash('sha256').update(buffer.subarray(start)).digest('hex') !== header.sha256) return null;
  const arrays: Record<string, Float32Array | Int32Array> = Object.create(null);
  let at = start;
  for (const { name, kind, length } of header.arrays) {
    const copy = Uint8Array.from(buffer.subarray(at, at + 4 * length)).buffer;
    arrays[name] = kind === 'f32' ? new Float32Array(copy) : new Int32Array(copy);
    at += 4 * length;
  }
  return arrays;
}

function readHeader(text: string): z.infer<typeof headerSchema> | null {
  try {
    return headerSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

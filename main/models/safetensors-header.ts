import type { FileHandle } from 'node:fs/promises';
import type { FileSign } from './file-signs.ts';

/** A tensor of a checkpoint, as its file's header describes it. */
export interface StoredTensor {
  name: string;
  /** Lower case: `bf16`, `f32`, ... */
  dtype: string;
  /** PyTorch order. */
  shape: number[];
  /** Where its values begin in the file, and their bytes. */
  offset: number;
  bytes: number;
}

/** As the format's own readers have it. */
const maxHeaderBytes = 100_000_000;

const dtypeBytes: Readonly<Record<string, number>> = {
  f64: 8,
  f32: 4,
  f16: 2,
  bf16: 2,
  f8_e4m3: 1,
  f8_e5m2: 1,
  i64: 8,
  i32: 4,
  i16: 2,
  i8: 1,
  u8: 1,
  bool: 1,
};

/**
 * A safetensors file is a length, a JSON header of that length, and tensors up to the last offset that it names. No
 * tensor's data is read.
 *
 * @param head the file's first bytes, at least ten
 * @returns its tensors, or what is wrong with it
 */
export async function safetensorsHeader(
  handle: FileHandle,
  head: Uint8Array,
  size: number,
): Promise<StoredTensor[] | FileSign> {
  const length = Number(new DataView(head.buffer, head.byteOffset, 8).getBigUint64(0, true));
  if (length > maxHeaderBytes || head[8] !== 0x7b) return { why: 'is not a safetensors file', sign: null };
  if (8 + length > size) return cut(size, 8 + length);
  const tensors: StoredTensor[] = [];
  let end = 0;
  try {
    const header = new TextDecoder().decode(await readAt(handle, 8, length, size));
    for (const [name, entry] of Object.entries(JSON.parse(header) as Record<string, unknown>)) {
      if (name === '__metadata__') continue;
      const parsed = parseEntry(name, entry, 8 + length);
      if (parsed === null) return { why: `has a header that says nothing usable of "${name}"`, sign: null };
      end = Math.max(end, parsed.end);
      tensors.push(parsed.tensor);
    }
  } catch {
    return { why: 'has a header that is not JSON', sign: null };
  }
  return 8 + length + end > size ? cut(size, 8 + length + end) : tensors;
}

export async function readAt(
  handle: FileHandle,
  offset: number,
  length: number,
  size: number,
): Promise<Uint8Array> {
  const buffer = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
  return buffer.subarray(0, bytesRead);
}

/** Null where shape, type and place do not agree. */
function parseEntry(
  name: string,
  entry: unknown,
  first: number,
): { tensor: StoredTensor; end: number } | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { dtype, shape, data_offsets: offsets } = entry as Record<string, unknown>;
  if (typeof dtype !== 'string' || !wholeNumbers(shape) || !wholeNumbers(offsets)) return null;
  const [start, end] = offsets;
  if (start === undefined || end === undefined || start > end) return null;
  const type = dtype.toLowerCase();
  const bytes = dtypeBytes[type];
  const elements = shape.reduce((product, length) => product * length, 1);
  if (bytes !== undefined && elements * bytes !== end - start) return null;
  return { tensor: { name, dtype: type, shape, offset: first + start, bytes: end - start }, end };
}

function wholeNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function cut(size: number, whole: number): FileSign {
  return { why: `was cut off: it has ${size} of at least ${whole} bytes`, sign: 'cut', whole };
}

import { type FileHandle, open } from 'node:fs/promises';
import type { StoredTensor } from './safetensors-header.ts';

/** A value's bits at and above the exponent: all of the exponent's set means infinity or NaN. */
interface Exponent {
  words: (bytes: Buffer) => Uint16Array | Uint32Array;
  mask: number;
  /** Words of a value, of which the last holds the exponent. */
  perValue: number;
}

const words16 = (bytes: Buffer) => new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
const words32 = (bytes: Buffer) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
const exponents: Readonly<Record<string, Exponent>> = {
  bf16: { words: words16, mask: 0x7f80, perValue: 1 },
  f16: { words: words16, mask: 0x7c00, perValue: 1 },
  f32: { words: words32, mask: 0x7f800000, perValue: 1 },
  f64: { words: words32, mask: 0x7ff00000, perValue: 2 },
};

/** One piece is looked through in a few milliseconds, so that nothing else waits long. */
const pieceBytes = 4 * 1024 * 1024;

/**
 * Looks for NaN and infinity in the tensors of a safetensors file; integers and eight-bit types are not looked at.
 *
 * @param onBytes bytes looked at so far
 * @returns the first damaged value, or null
 * @throws what reading the file throws; the signal's reason
 */
export async function firstNonFinite(
  path: string,
  tensors: readonly StoredTensor[],
  { signal, onBytes }: { signal?: AbortSignal | undefined; onBytes?: (bytes: number) => void } = {},
): Promise<{ tensor: string; element: number } | null> {
  const handle = await open(path);
  try {
    // Aligned for all types, and used for every piece.
    const piece = Buffer.from(new ArrayBuffer(pieceBytes));
    let before = 0;
    for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset)) {
      const exponent = exponents[tensor.dtype];
      for (let at = 0; exponent !== undefined && at < tensor.bytes; at += pieceBytes) {
        signal?.throwIfAborted();
        const bytes = piece.subarray(0, Math.min(pieceBytes, tensor.bytes - at));
        await readFully(handle, bytes, tensor.offset + at);
        const index = nonFinite(exponent, bytes);
        const perPiece = pieceBytes / (exponent.perValue * exponent.words(piece).BYTES_PER_ELEMENT);
        if (index !== null) return { tensor: tensor.name, element: (at / pieceBytes) * perPiece + index };
        onBytes?.(before + at + bytes.length);
      }
      before += tensor.bytes;
    }
    return null;
  } finally {
    await handle.close();
  }
}

function nonFinite({ words, mask, perValue }: Exponent, bytes: Buffer): number | null {
  const values = words(bytes);
  for (let index = perValue - 1; index < values.length; index += perValue) {
    if ((values[index]! & mask) === mask) return (index - (perValue - 1)) / perValue;
  }
  return null;
}

async function readFully(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) throw Object.assign(new Error('the file became shorter'), { code: 'CUT_OFF' });
    done += bytesRead;
  }
}

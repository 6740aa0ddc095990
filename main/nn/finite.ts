import type { Checkpoint, CheckpointDType, CheckpointTensor } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';

/** Bytes and elements of a quantised block, and where in it its float16 scales lie. */
const scales: Partial<Record<CheckpointDType, { block: number; elements: number; at: readonly number[] }>> = {
  q4_0: { block: 18, elements: 32, at: [0] },
  q4_1: { block: 20, elements: 32, at: [0, 2] },
  q5_0: { block: 22, elements: 32, at: [0] },
  q5_1: { block: 24, elements: 32, at: [0, 2] },
  q8_0: { block: 34, elements: 32, at: [0] },
  q2_K: { block: 84, elements: 256, at: [80, 82] },
  q3_K: { block: 110, elements: 256, at: [108] },
  q4_K: { block: 144, elements: 256, at: [0, 2] },
  q5_K: { block: 176, elements: 256, at: [0, 2] },
  q6_K: { block: 210, elements: 256, at: [208] },
  iq4_nl: { block: 18, elements: 32, at: [0] },
  iq4_xs: { block: 136, elements: 256, at: [0] },
};

type Words = Uint8Array | Uint16Array | Uint32Array;

/** Bits that are all set in infinities and NaNs, for types that are read word by word. */
const masks: Partial<Record<CheckpointDType, { bytes: 1 | 2 | 4; mask: number }>> = {
  f32: { bytes: 4, mask: 0x7f800000 },
  f16: { bytes: 2, mask: 0x7c00 },
  bf16: { bytes: 2, mask: 0x7f80 },
  f8_e5m2: { bytes: 1, mask: 0x7c },
  // No infinity here; NaN is all ones below the sign.
  f8_e4m3: { bytes: 1, mask: 0x7f },
};

const pieceElements = 1 << 22;

/** Throws `weights_not_finite`, naming the tensor, where a checkpoint holds NaN or infinity. */
export async function checkFinite(checkpoint: Checkpoint, tensor: CheckpointTensor): Promise<void> {
  const find = finder(tensor.dtype);
  if (find === null) return;
  const bytes = checkpoint.readBytes(tensor.name);
  const count = Math.floor(bytes.byteLength / find.bytes);
  for (let start = 0; start < count; start += pieceElements) {
    const index = find.first(bytes, start, Math.min(start + pieceElements, count));
    if (index >= 0) throw notFinite(tensor.name, index * find.elements);
    // A large tensor takes seconds; messages such as a cancel arrive between its pieces.
    if (count > pieceElements) await new Promise((resolve) => setImmediate(resolve));
  }
}

export function notFinite(tensor: string, element: number): StudioError {
  return new StudioError(
    'weights_not_finite',
    `The weights are damaged: tensor "${tensor}" holds a value that is not a finite number (at element ${element}). ` +
      'Download or export the checkpoint again.',
    { params: { tensor, element } },
  );
}

interface Finder {
  /** Bytes and elements of one item. */
  bytes: number;
  elements: number;
  /** Index of the first item of a range that is not finite; -1: none. */
  first(bytes: Uint8Array, start: number, end: number): number;
}

function finder(dtype: CheckpointDType): Finder | null {
  const word = masks[dtype];
  if (word !== undefined) {
    const { mask } = word;
    return {
      bytes: word.bytes,
      elements: 1,
      first: (bytes, start, end) => firstMasked(wordsOf(bytes, word.bytes), mask, start, end),
    };
  }
  if (dtype === 'f64') {
    return {
      bytes: 8,
      elements: 1,
      first: (bytes, start, end) => {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        for (let index = start; index < end; index += 1) {
          if (!Number.isFinite(view.getFloat64(index * 8, true))) return index;
        }
        return -1;
      },
    };
  }
  const scale = scales[dtype];
  if (scale === undefined) return null;
  return {
    bytes: scale.block,
    elements: scale.elements,
    first: (bytes, start, end) => {
      for (let index = start; index < end; index += 1) {
        for (const at of scale.at) {
          // The high byte of a little-endian float16 holds its exponent.
          if ((bytes[index * scale.block + at + 1]! & 0x7c) === 0x7c) return index;
        }
      }
      return -1;
    },
  };
}

function firstMasked(words: Words, mask: number, start: number, end: number): number {
  for (let index = start; index < end; index += 1) if ((words[index]! & mask) === mask) return index;
  return -1;
}

function wordsOf(bytes: Uint8Array, size: 1 | 2 | 4): Words {
  if (size === 1) return bytes;
  const aligned = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset, byteLength } = aligned;
  return size === 2
    ? new Uint16Array(buffer, byteOffset, byteLength >> 1)
    : new Uint32Array(buffer, byteOffset, byteLength >> 2);
}

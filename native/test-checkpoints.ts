/** Checkpoints that tests write, with a say in where each tensor begins. */
import { writeFileSync } from 'node:fs';

export interface StoredTensor {
  name: string;
  dtype: 'F32' | 'F16';
  shape: number[];
  bytes: Uint8Array;
  /** Bytes before it. */
  gap?: number;
}

/** A safetensors file whose tensors begin at a multiple of `alignment` bytes, but for what `gap` adds. */
export function writeSafetensors(path: string, tensors: readonly StoredTensor[], alignment: number): void {
  const header: Record<string, unknown> = {};
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for (const [i, { name: tensor, dtype, shape, bytes, gap = 0 }] of tensors.entries()) {
    const lead = ((alignment - (offset % alignment)) % alignment) + gap;
    if (lead > 0) {
      header[`gap.${i}`] = { dtype: 'U8', shape: [lead], data_offsets: [offset, offset + lead] };
      pieces.push(new Uint8Array(lead));
      offset += lead;
    }
    header[tensor] = { dtype, shape, data_offsets: [offset, offset + bytes.length] };
    pieces.push(bytes);
    offset += bytes.length;
  }
  let text = JSON.stringify(header);
  text += ' '.repeat((alignment - ((text.length + 8) % alignment)) % alignment);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length), true);
  writeFileSync(path, Buffer.concat([size, Buffer.from(text), ...pieces]));
}

export const rawBytes = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

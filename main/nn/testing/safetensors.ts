import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TensorFile {
  dtype: 'F32' | 'F16' | 'BF16' | 'F64' | 'I32' | 'I64' | 'U8' | 'BOOL' | 'F8_E4M3' | 'F8_E5M2';
  shape: number[];
  data: ArrayBufferView;
}

/** A folder under the system's temporary one, and a function that removes it. */
export function temporaryFolder(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-nn-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Writes a safetensors file of these tensors, in this order; answers its path. */
export function writeSafetensors(path: string, tensors: Record<string, TensorFile>): string {
  let offset = 0;
  const header: Record<string, unknown> = {};
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.byteLength));
  const parts = Object.values(tensors).map(({ data }) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  );
  writeFileSync(path, Buffer.concat([length, padded, ...parts]));
  return path;
}

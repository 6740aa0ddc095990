import { open } from 'node:fs/promises';
import { Random } from '../../main/nn/random.ts';

export const width = 2048;
const hidden = 8192;

export interface RandomCheckpoint {
  path: string;
  bytes: number;
  largestBytes: number;
}

/** `[out, in]` of each layer's two products. */
export const layerShapes = { up: [hidden, width], down: [width, hidden] } as const;

/** Layers of 64 MiB in bf16 (or f16: the same bytes, other values): `layers.N.up.weight [8192, 2048]` and `layers.N.down.weight [2048, 8192]`. */
export async function writeCheckpoint(
  path: string,
  mebibytes: number,
  dtype: 'BF16' | 'F16' = 'BF16',
): Promise<RandomCheckpoint> {
  const tensorBytes = hidden * width * 2;
  const layers = Math.max(1, Math.floor((mebibytes * 2 ** 20) / (2 * tensorBytes)));
  const header: Record<string, { dtype: string; shape: readonly number[]; data_offsets: [number, number] }> =
    {};
  let offset = 0;
  for (let layer = 0; layer < layers; layer++) {
    for (const [name, shape] of Object.entries(layerShapes)) {
      header[`layers.${layer}.${name}.weight`] = {
        dtype,
        shape,
        data_offsets: [offset, offset + tensorBytes],
      };
      offset += tensorBytes;
    }
  }
  const text = JSON.stringify(header);
  const padded = text.padEnd(Math.ceil(text.length / 64) * 64 + 56);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const file = await open(path, 'w');
  try {
    await file.write(Buffer.concat([length, Buffer.from(padded)]));
    const random = new Random(3);
    for (let tensor = 0; tensor < 2 * layers; tensor++) {
      // One new piece for each tensor, many times: what is measured is memory.
      const values = random.fillNormal(new Float32Array(2 ** 18), 0, 0.02);
      const words = new Uint32Array(values.buffer);
      const halves = Uint16Array.from(words, (word) => word >>> 16);
      for (let done = 0; done < tensorBytes; done += halves.byteLength) {
        await file.write(new Uint8Array(halves.buffer));
      }
    }
  } finally {
    await file.close();
  }
  return { path, bytes: offset, largestBytes: tensorBytes };
}

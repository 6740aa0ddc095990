import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { firstNonFinite } from './finite-values.ts';
import { ModelFolder } from './model-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-finite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A safetensors file of one sound tensor of three bytes and one of this type, whose data need not be aligned. */
async function found(dtype: string, elements: number, data: ArrayBuffer) {
  const header = Buffer.from(
    JSON.stringify({
      odd: { dtype: 'U8', shape: [3], data_offsets: [0, 3] },
      w: { dtype, shape: [elements], data_offsets: [3, 3 + data.byteLength] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(
    join(folder, 'm.safetensors'),
    Buffer.concat([length, header, Buffer.from([255, 255, 255]), Buffer.from(data)]),
  );
  return firstNonFinite(
    join(folder, 'm.safetensors'),
    await new ModelFolder(folder).tensors('m.safetensors'),
  );
}

describe('values that are not finite', () => {
  const largest = { F16: 0x7bff, BF16: 0x7f7f, F32: 0x7f7fffff } as const;
  const infinite = { F16: 0xfc00, BF16: 0xff80, F32: 0xff800000 } as const;
  const nan = { F16: 0x7c01, BF16: 0x7fc0, F32: 0x7f800001 } as const;

  it.each(['F16', 'BF16', 'F32'] as const)(
    '%s: found by element, beyond the first piece too',
    async (dtype) => {
      const Words = dtype === 'F32' ? Uint32Array : Uint16Array;
      // More than one piece of four mebibytes.
      const values = new Words(5_000_000 / Words.BYTES_PER_ELEMENT).fill(largest[dtype]);
      expect(await found(dtype, values.length, values.buffer)).toBeNull();
      values[values.length - 1] = nan[dtype];
      expect(await found(dtype, values.length, values.buffer)).toEqual({
        tensor: 'w',
        element: values.length - 1,
      });
      values[7] = infinite[dtype];
      expect(await found(dtype, values.length, values.buffer)).toEqual({ tensor: 'w', element: 7 });
    },
  );

  it('F64', async () => {
    const values = new Float64Array([Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 1]);
    expect(await found('F64', 4, values.buffer)).toBeNull();
    values[2] = Number.NaN;
    expect(await found('F64', 4, values.buffer)).toEqual({ tensor: 'w', element: 2 });
  });

  it('integers have none', async () => {
    expect(await found('I32', 2, new Int32Array([-1, 0x7f800000]).buffer)).toBeNull();
  });
});

import { describe, expect, it } from 'vitest';
import type { DType } from '../../native/addon.ts';
import { deviceDType } from './dtypes.ts';

const device = (...dtypes: DType[]) => ({ supportsDType: (dtype: DType) => dtypes.includes(dtype) });
const everything = { supportsDType: () => true };

describe('deviceDType', () => {
  it('uses types as they are where the device can', () => {
    for (const dtype of ['f32', 'f16', 'bf16', 'q8_0', 'q4_K'] as const) {
      expect(deviceDType(dtype, 'matmul', everything)).toBe(dtype);
      expect(deviceDType(dtype, 'rows', everything)).toBe(dtype);
    }
  });

  it('takes the narrowest type that is exact where the device cannot', () => {
    const noBFloat = device('f32', 'f16');
    // float16 would round bfloat16's exponent away.
    expect(deviceDType('bf16', 'matmul', noBFloat)).toBe('f32');
    expect(deviceDType('f8_e4m3', 'matmul', noBFloat)).toBe('f16');
    expect(deviceDType('f8_e5m2', 'matmul', device('f32'))).toBe('f32');
    expect(deviceDType('q4_K', 'matmul', noBFloat)).toBe('f32');
    expect(deviceDType('f64', 'matmul', everything)).toBe('f32');
  });

  it('widens what is read element by element, and everything on request', () => {
    expect(deviceDType('f16', 'elementwise', everything)).toBe('f32');
    expect(deviceDType('f16', 'matmul', everything, 'f32')).toBe('f32');
    expect(deviceDType('q8_0', 'matmul', everything, 'f32')).toBe('f32');
  });

  it('reads indices as int32, and nothing else as an index', () => {
    expect(deviceDType('i64', 'index', everything)).toBe('i32');
    expect(deviceDType('i32', 'index', everything, 'f32')).toBe('i32');
    expect(deviceDType('f32', 'index', everything)).toBeNull();
    expect(deviceDType('i64', 'matmul', everything)).toBeNull();
    expect(deviceDType('u8', 'elementwise', everything)).toBe('f32');
  });

  it('knows no type for what a checkpoint cannot name', () => {
    expect(deviceDType('other', 'matmul', everything)).toBeNull();
  });
});

import type { CheckpointDType, Device, DType } from '../../native/addon.ts';
import type { ReadBy } from './parameter.ts';

/**
 * - `keep`: the checkpoint's own type where the device can use it, else the narrowest type that holds it exactly;
 * - `f32`: every floating-point weight in float32, for parity with float32 references.
 */
export type DTypePolicy = 'keep' | 'f32';

/** Narrowest types that hold every value of a checkpoint's type, narrowest first. */
const exact: Readonly<Record<CheckpointDType, readonly DType[]>> = {
  f32: ['f32'],
  f16: ['f16', 'f32'],
  bf16: ['bf16', 'f32'],
  // No device computes in float64 here; float32 is what upstream runs these tables in.
  f64: ['f32'],
  f8_e4m3: ['f16', 'f32'],
  f8_e5m2: ['f16', 'f32'],
  bool: ['f32'],
  u8: ['f32'],
  i8: ['f32'],
  i16: ['f32'],
  // Whole numbers this large are indices.
  i32: [],
  i64: [],
  q4_0: ['q4_0', 'f32'],
  q4_1: ['q4_1', 'f32'],
  q5_0: ['q5_0', 'f32'],
  q5_1: ['q5_1', 'f32'],
  q8_0: ['q8_0', 'f32'],
  q2_K: ['q2_K', 'f32'],
  q3_K: ['q3_K', 'f32'],
  q4_K: ['q4_K', 'f32'],
  q5_K: ['q5_K', 'f32'],
  q6_K: ['q6_K', 'f32'],
  iq4_nl: ['iq4_nl', 'f32'],
  iq4_xs: ['iq4_xs', 'f32'],
  other: [],
};

/** Blocks of values that share a scale. */
export function isQuantised(dtype: CheckpointDType): boolean {
  return /^i?q\d/.test(dtype);
}

const indices = new Set<CheckpointDType>(['i16', 'i32', 'i64']);

/** Type on the device of a weight; null where none holds it. */
export function deviceDType(
  source: CheckpointDType,
  readBy: ReadBy,
  device: Pick<Device, 'supportsDType'>,
  policy: DTypePolicy = 'keep',
): DType | null {
  if (readBy === 'index') return indices.has(source) ? 'i32' : null;
  if (exact[source].length === 0) return null;
  if (policy === 'f32' || readBy === 'elementwise') return 'f32';
  return exact[source].find((dtype) => device.supportsDType(dtype)) ?? null;
}

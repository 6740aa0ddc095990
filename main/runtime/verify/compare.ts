/** How two outputs differ, sample by sample. */
export interface Difference {
  identical: boolean;
  /** Index of the first sample whose bits differ; the shorter length where one output ends early. */
  first: number | null;
  /** Samples that differ, those that only one output has included. */
  count: number;
  /** Largest absolute difference; infinite where a value is no number, or the lengths differ. */
  largest: number;
}

/** Bits are compared, so that -0 is not 0 and a NaN equals only itself. */
export function compareSamples(samples: Float32Array, reference: Float32Array): Difference {
  const bits = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);
  const [own, other] = [bits(samples), bits(reference)];
  const shared = Math.min(own.length, other.length);
  const longer = Math.max(own.length, other.length);
  let first: number | null = null;
  let count = longer - shared;
  let largest = count > 0 ? Number.POSITIVE_INFINITY : 0;
  for (let at = 0; at < shared; at++) {
    if (own[at] === other[at]) continue;
    first ??= at;
    count++;
    const distance = Math.abs(samples[at]! - reference[at]!);
    largest = Math.max(largest, Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance);
  }
  if (first === null && longer > shared) first = shared;
  return { identical: first === null, first, count, largest };
}

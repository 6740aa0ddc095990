/** Conversions between float32 and the 16-bit types, by round to nearest even, as PyTorch and ggml round. */
const floatView = new Float32Array(1);
const bitView = new Uint32Array(floatView.buffer);

export function toFloat16Bits(value: number): number {
  floatView[0] = value;
  const bits = bitView[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 and above round to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 puts the subnormal's last bit at the mantissa's end, rounded by the FPU.
    bitView[0] = magnitude;
    floatView[0] = floatView[0]! + 0.5;
    return sign | (bitView[0]! - 0x3f000000);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

export function fromFloat16Bits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 0x1f) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

export function toBFloat16Bits(value: number): number {
  floatView[0] = value;
  const bits = bitView[0]!;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

export function fromBFloat16Bits(bits: number): number {
  bitView[0] = bits << 16;
  return floatView[0]!;
}

function convert(values: Float32Array, bitsOf: (value: number) => number): Uint8Array {
  const bits = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index += 1) bits[index] = bitsOf(values[index]!);
  return new Uint8Array(bits.buffer);
}

function widen(bytes: Uint8Array, decode: (bits: number) => number): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength >> 1 }, (_, index) =>
    decode(view.getUint16(index * 2, true)),
  );
}

/** Little-endian bytes, as tensors of type `f16` take them. */
export function toFloat16(values: Float32Array): Uint8Array {
  return convert(values, toFloat16Bits);
}

export function fromFloat16(bytes: Uint8Array): Float32Array {
  return widen(bytes, fromFloat16Bits);
}

export function toBFloat16(values: Float32Array): Uint8Array {
  return convert(values, toBFloat16Bits);
}

export function fromBFloat16(bytes: Uint8Array): Float32Array {
  return widen(bytes, fromBFloat16Bits);
}

import { Turns } from '../../turns.ts';
import { BitReader } from './bits.ts';
import { type DecodedAudio, DecodeError, type DecodeLimits, PcmCollector, patienceMs } from './pcm.ts';

interface StreamInfo {
  sampleRate: number;
  channels: number;
  bits: number;
  /** 0: not said. */
  frames: number;
}

/**
 * Decodes a FLAC file (RFC 9639): every sample as it was before. Of a damaged file, what comes before the damage.
 *
 * @throws DecodeError, TooLong
 */
export async function decodeFlac(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedAudio> {
  const { info, at } = readMetadata(bytes);
  const collector = new PcmCollector(
    { sampleRate: info.sampleRate, channels: info.channels, bits: info.bits > 16 ? 24 : 16 },
    limits,
  );
  const widen = collector.format.bits - info.bits;
  const warnings: string[] = [];
  const turns = new Turns(patienceMs);
  const reader = new BitReader(bytes, at);
  try {
    while (reader.byte + 2 < bytes.length) {
      // Some programs put a tag behind the audio.
      if (String.fromCharCode(...bytes.subarray(reader.byte, reader.byte + 3)) === 'TAG') break;
      const block = readFrame(reader, bytes, info);
      const frames = block[0]!.length;
      if (widen > 0) for (const values of block) for (let n = 0; n < frames; n++) values[n]! <<= widen;
      collector.addIntegers(block, frames);
      await turns.take();
    }
  } catch (error) {
    if (!(error instanceof DecodeError) || collector.frames === 0) throw error;
    const seconds = (collector.frames / info.sampleRate).toFixed(2);
    warnings.push(
      `The FLAC file is damaged after ${seconds} s (${error.message}); what comes before was read.`,
    );
  }
  if (collector.frames === 0) throw new DecodeError('it ends before its first block of sound');
  if (warnings.length === 0 && collector.frames < info.frames) {
    warnings.push(`The FLAC file has ${collector.frames} of ${info.frames} samples; those were read.`);
  }
  return collector.finish(warnings);
}

function readMetadata(bytes: Uint8Array): { info: StreamInfo; at: number } {
  let at = 4;
  let info: StreamInfo | null = null;
  for (let last = false; !last; ) {
    const reader = new BitReader(bytes, at);
    last = reader.read(1) === 1;
    const type = reader.read(7);
    const length = reader.read(24);
    if (type === 0) {
      reader.read(16 + 16);
      reader.read(24);
      reader.read(24);
      const sampleRate = reader.read(20);
      const channels = reader.read(3) + 1;
      const bits = reader.read(5) + 1;
      info = { sampleRate, channels, bits, frames: reader.read(4) * 2 ** 32 + reader.read(32) };
    }
    at += 4 + length;
  }
  if (info === null) throw new DecodeError('it lacks the block that describes its samples');
  if (info.sampleRate === 0) throw new DecodeError('it claims a sample rate of 0 Hz');
  if (info.bits > 24) throw new DecodeError(`its samples have ${info.bits} bits; at most 24 can be read`);
  return { info, at };
}

const sizes = [0, 192, 576, 1152, 2304, 4608];

/** One array of samples per channel. */
function readFrame(reader: BitReader, bytes: Uint8Array, info: StreamInfo): Int32Array[] {
  const start = reader.byte;
  if (reader.read(15) !== 0b111_1111_1111_1100)
    throw new DecodeError('a block does not begin where one should');
  reader.read(1);
  const sizeCode = reader.read(4);
  const rateCode = reader.read(4);
  const assignment = reader.read(4);
  reader.read(3 + 1);
  skipNumber(reader);
  const size =
    sizeCode === 6
      ? reader.read(8) + 1
      : sizeCode === 7
        ? reader.read(16) + 1
        : sizeCode < 6
          ? sizes[sizeCode]!
          : 256 << (sizeCode - 8);
  if (size === 0) throw new DecodeError('a block claims a size that does not exist');
  if (rateCode === 12) reader.read(8);
  else if (rateCode === 13 || rateCode === 14) reader.read(16);
  const channels = assignment < 8 ? assignment + 1 : 2;
  if (assignment > 10 || channels !== info.channels) {
    throw new DecodeError(`a block claims ${assignment > 10 ? 'unknown' : channels} channels`);
  }
  const headerEnd = reader.byte;
  if (reader.read(8) !== crc8(bytes.subarray(start, headerEnd))) {
    throw new DecodeError('the header of a block has a wrong checksum');
  }
  // The side channel of a pair needs one bit more.
  const sideOf = [-1, -1, -1, -1, -1, -1, -1, -1, 1, 0, 1][assignment]!;
  const block = Array.from({ length: channels }, (_, channel) =>
    readSubframe(reader, size, info.bits + Number(channel === sideOf)),
  );
  if (assignment >= 8) joinStereo(block[0]!, block[1]!, assignment);
  reader.align();
  const end = reader.byte;
  if (reader.read(16) !== crc16(bytes.subarray(start, end))) {
    throw new DecodeError('a block has a wrong checksum');
  }
  return block;
}

/** The number of the frame or of its first sample, coded as UTF-8 codes characters. */
function skipNumber(reader: BitReader): void {
  const first = reader.read(8);
  const ones = Math.clz32(~(first << 24));
  if (ones === 1 || ones > 7) throw new DecodeError('a block has no number');
  for (let more = 1; more < ones; more++) reader.read(8);
}

function readSubframe(reader: BitReader, size: number, depth: number): Int32Array {
  if (reader.read(1) !== 0) throw new DecodeError('a block is coded in a way that does not exist');
  const type = reader.read(6);
  const wasted = reader.read(1) === 1 ? reader.unary() + 1 : 0;
  const bits = depth - wasted;
  if (bits < 1) throw new DecodeError('a block claims samples without bits');
  const samples = new Int32Array(size);
  if (type === 0) samples.fill(reader.signed(bits));
  else if (type === 1) for (let n = 0; n < size; n++) samples[n] = reader.signed(bits);
  else if (type >= 8 && type <= 12) readFixed(reader, samples, bits, type - 8);
  else if (type >= 32) readLinear(reader, samples, bits, type - 31);
  else throw new DecodeError('a block is coded in a way that does not exist');
  if (wasted > 0) for (let n = 0; n < size; n++) samples[n]! <<= wasted;
  return samples;
}

const fixedCoefficients = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

function readFixed(reader: BitReader, samples: Int32Array, bits: number, order: number): void {
  if (order > samples.length) throw new DecodeError('a block is shorter than its own beginning');
  for (let n = 0; n < order; n++) samples[n] = reader.signed(bits);
  readResidual(reader, samples, order);
  predict(samples, fixedCoefficients[order]!, 0);
}

function readLinear(reader: BitReader, samples: Int32Array, bits: number, order: number): void {
  if (order > samples.length) throw new DecodeError('a block is shorter than its own beginning');
  for (let n = 0; n < order; n++) samples[n] = reader.signed(bits);
  const precision = reader.read(4) + 1;
  const shift = reader.signed(5);
  if (precision > 15 || shift < 0) throw new DecodeError('a block has a predictor that does not exist');
  const coefficients = Array.from({ length: order }, () => reader.signed(precision));
  readResidual(reader, samples, order);
  predict(samples, coefficients, shift);
}

/** Behind the first samples, which are whole, the array holds what the prediction lacks. */
function predict(samples: Int32Array, coefficients: readonly number[], shift: number): void {
  const order = coefficients.length;
  const scale = 2 ** shift;
  for (let n = order; n < samples.length; n++) {
    // Sums of 45 bits are exact in float64.
    let sum = 0;
    for (let i = 0; i < order; i++) sum += coefficients[i]! * samples[n - 1 - i]!;
    samples[n] = samples[n]! + Math.floor(sum / scale);
  }
}

function readResidual(reader: BitReader, samples: Int32Array, order: number): void {
  const method = reader.read(2);
  if (method > 1) throw new DecodeError('a block is coded in a way that does not exist');
  const width = method === 0 ? 4 : 5;
  const escaped = 2 ** width - 1;
  const partitions = 2 ** reader.read(4);
  const length = samples.length / partitions;
  if (!Number.isInteger(length) || length < order) {
    throw new DecodeError('a block is divided in a way that does not work out');
  }
  let n = order;
  for (let partition = 0; partition < partitions; partition++) {
    const end = (partition + 1) * length;
    const parameter = reader.read(width);
    if (parameter === escaped) {
      const bits = reader.read(5);
      for (; n < end; n++) samples[n] = reader.signed(bits);
      continue;
    }
    const step = 2 ** parameter;
    for (; n < end; n++) {
      const folded = reader.unary() * step + reader.read(parameter);
      samples[n] = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    }
  }
}

function joinStereo(first: Int32Array, second: Int32Array, assignment: number): void {
  for (let n = 0; n < first.length; n++) {
    const a = first[n]!;
    const b = second[n]!;
    if (assignment === 8) second[n] = a - b;
    else if (assignment === 9) first[n] = a + b;
    else {
      const sum = a * 2 + (b & 1);
      first[n] = (sum + b) / 2;
      second[n] = (sum - b) / 2;
    }
  }
}

const crc8Table = Uint8Array.from({ length: 256 }, (_, byte) => remainder(byte, 8, 0x07));
const crc16Table = Uint16Array.from({ length: 256 }, (_, byte) => remainder(byte << 8, 16, 0x8005));

function remainder(value: number, bits: number, polynomial: number): number {
  let rest = value;
  for (let n = 0; n < 8; n++) rest = rest & (1 << (bits - 1)) ? (rest << 1) ^ polynomial : rest << 1;
  return rest & ((1 << bits) - 1);
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = crc8Table[crc ^ byte]!;
  return crc;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc & 0xff) << 8) ^ crc16Table[(crc >> 8) ^ byte]!;
  return crc;
}

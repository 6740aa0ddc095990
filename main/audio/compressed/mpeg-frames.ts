import { startsWith } from './ogg.ts';

/** Frames of an MPEG audio file one after the other, without tags and noise between them. */
export interface MpegFrames {
  bytes: Uint8Array;
  /** 1 to 3; MP3 is the third. */
  layer: number;
  sampleRate: number;
  channels: number;
  /** Samples of each channel. */
  samples: number;
  /** Samples that the encoder put before and behind the audio, where it says so. */
  padding: { before: number; behind: number } | null;
  /** Bytes between frames, and of a last frame that is not whole. */
  skipped: number;
}

interface Header {
  /** What all frames of a file share: version, layer, rate, mono or not. */
  kind: number;
  length: number;
  sampleRate: number;
  channels: number;
  samples: number;
  layer: number;
}

/** Of MPEG 1, by layer; then of MPEG 2 and 2.5. kbit/s. */
const bitRates = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const lowBitRates = [
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const sampleRates = [44_100, 48_000, 32_000];

/**
 * Walks from frame to frame. The first two have to follow each other; after that, frames of another kind are noise.
 *
 * @returns null where there is no frame
 */
export function readMpegFrames(file: Uint8Array): MpegFrames | null {
  const bytes = new Uint8Array(file.length);
  let used = 0;
  let count = 0;
  let first: Header | null = null;
  let padding: MpegFrames['padding'] = null;
  let at = 0;
  while (at + 4 <= file.length) {
    const header = headerAt(file, at);
    const fits =
      header !== null && at + header.length <= file.length && (first ?? header).kind === header.kind;
    if (!fits || (first === null && headerAt(file, at + header.length)?.kind !== header.kind)) {
      at += 1;
      continue;
    }
    const frame = file.subarray(at, at + header.length);
    const tag = first === null ? encoderTag(frame, header) : null;
    first ??= header;
    if (tag === null) {
      bytes.set(frame, used);
      used += frame.length;
      count += 1;
    } else padding = tag.padding;
    at += header.length;
  }
  if (first === null || count === 0) return null;
  const { layer, sampleRate, channels, samples } = first;
  return {
    bytes: bytes.subarray(0, used),
    layer,
    sampleRate,
    channels,
    samples: count * samples,
    padding,
    skipped: file.length - used,
  };
}

/** Null where none begins. Frames without a stated bit rate are not told apart. */
export function headerAt(bytes: Uint8Array, at: number): Header | null {
  if (at + 4 > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xe0) !== 0xe0) return null;
  const [second, third, fourth] = [bytes[at + 1]!, bytes[at + 2]!, bytes[at + 3]!];
  // 3: MPEG 1; 2: MPEG 2; 0: MPEG 2.5.
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const bitRate = (version === 3 ? bitRates : lowBitRates)[layer - 1]?.[third >> 4];
  const full = sampleRates[(third >> 2) & 3];
  if (version === 1 || !bitRate || full === undefined) return null;
  const sampleRate = version === 3 ? full : version === 2 ? full / 2 : full / 4;
  const mono = fourth >> 6 === 3;
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152;
  const slot = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples / 8 / slot) * ((1000 * bitRate) / sampleRate)) + ((third >> 1) & 1);
  const kind = ((second & 0xfe) << 8) | (third & 0x0c) | Number(mono);
  return { kind, length: slots * slot, sampleRate, channels: mono ? 1 : 2, samples, layer };
}

/** A first frame that holds no sound but facts about the file (Xing, LAME); null: an ordinary one. */
function encoderTag(
  frame: Uint8Array,
  { samples, channels, layer }: Header,
): { padding: MpegFrames['padding'] } | null {
  if (layer !== 3) return null;
  const side = samples === 1152 ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17;
  const tag = frame.subarray(4 + side);
  if (!startsWith(tag, 'Xing') && !startsWith(tag, 'Info')) return null;
  const flags = tag[7] ?? 0;
  // Number of frames, of bytes, a table, a quality; each may be there.
  const facts = 8 + ((flags & 1) !== 0 ? 4 : 0) + ((flags & 2) !== 0 ? 4 : 0) + ((flags & 4) !== 0 ? 100 : 0);
  const lame = tag.subarray(facts + ((flags & 8) !== 0 ? 4 : 0));
  if (lame.length < 24 || !/^(LAME|Lavc|Lavf)/.test(String.fromCharCode(...lame.subarray(0, 4))))
    return { padding: null };
  const [a, b, c] = [lame[21]!, lame[22]!, lame[23]!];
  return { padding: { before: (a << 4) | (b >> 4), behind: ((b & 15) << 8) | c } };
}

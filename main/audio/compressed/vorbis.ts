import { StbVorbis } from 'stb-vorbis';
import { Turns } from '../../turns.ts';
import { needed, readOgg, writeOgg } from './ogg.ts';
import {
  type DecodedAudio,
  DecodeError,
  type DecodeLimits,
  PcmCollector,
  patienceMs,
  TooLong,
} from './pcm.ts';
import { VorbisBlocks } from './vorbis-blocks.ts';

/** Identification, comments, setup. */
const headerPackets = 3;
/** Packets of a piece where no pair of them is alike: bounds its memory. */
const mostPackets = 1024;

/**
 * Decodes Ogg Vorbis. Null where the file holds none.
 *
 * The decoder takes files whole, and would hold up everything else meanwhile: it gets short ones, each with the headers
 * and the packet before, whose second half overlaps with the first of the next.
 *
 * @param packetsPerPiece at least so many: the default is about 0.7 s of audio
 * @throws DecodeError, TooLong
 */
export async function decodeVorbis(
  bytes: Uint8Array,
  limits: DecodeLimits,
  packetsPerPiece = 32,
): Promise<DecodedAudio | null> {
  const stream = readOgg(bytes, '\x01vorbis');
  if (stream === null) return null;
  const { packets, lastPosition, complete } = stream;
  const head = needed(packets[0], 30);
  const channels = head[11]!;
  const sampleRate = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(12, true);
  if (channels === 0 || sampleRate === 0) throw new DecodeError('its first page describes no audio');
  const end = complete && lastPosition !== null ? lastPosition : Number.POSITIVE_INFINITY;
  if (Number.isFinite(end) && 2 * channels * end > limits.bytes) throw new TooLong(end / sampleRate);
  const blocks = new VorbisBlocks(needed(packets[2], 8));
  await StbVorbis.ready;
  const collector = new PcmCollector({ sampleRate, channels, bits: 16 }, limits);
  const headers = packets.slice(0, headerPackets);
  const turns = new Turns(patienceMs);
  let wrong = 0;
  for (let at = headerPackets, next = at; at < packets.length; at = next) {
    next = pieceEnd(packets, blocks, at, packetsPerPiece);
    const before = Math.max(headerPackets, at - 1);
    const decoded = decodePackets([...headers, ...packets.slice(before, next)]);
    await turns.take();
    if (decoded === null) {
      wrong += 1;
      continue;
    }
    if (decoded.sampleRate !== sampleRate || decoded.channels.length !== channels) {
      throw new DecodeError('its first page and its audio differ in rate or channels');
    }
    const frames = decoded.channels[0]!.length;
    collector.addFloats(decoded.channels, 0, Math.min(frames, Math.max(0, end - collector.frames)));
    await turns.take();
  }
  if (collector.frames === 0) throw new DecodeError('it holds no sound');
  const warnings: string[] = [];
  if (wrong > 0) warnings.push('The Vorbis file is damaged in places, which were left out.');
  if (!complete) {
    warnings.push(
      'The Vorbis file ends before its last page, or is damaged there; what comes before was read.',
    );
  }
  return collector.finish(warnings);
}

/** Where the piece from `start` may end. What is left must be more than the one packet that a decoder begins with. */
function pieceEnd(
  packets: readonly Uint8Array[],
  blocks: VorbisBlocks,
  start: number,
  least: number,
): number {
  const last = packets.length - 1;
  for (let end = start + Math.max(2, least); end < last && end - start < mostPackets; end++) {
    if (blocks.alike(packets[end - 1]!, packets[end]!)) return end;
  }
  return Math.min(packets.length, start + Math.max(mostPackets, least));
}

/** Null where they cannot be decoded. */
function decodePackets(packets: readonly Uint8Array[]): ReturnType<typeof StbVorbis.decode> | null {
  try {
    return StbVorbis.decode(writeOgg(packets));
  } catch {
    return null;
  }
}

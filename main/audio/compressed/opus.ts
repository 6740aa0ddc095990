import { OpusDecoder } from 'opus-decoder';
import { Turns } from '../../turns.ts';
import { needed, readOgg } from './ogg.ts';
import {
  type DecodedAudio,
  DecodeError,
  type DecodeLimits,
  PcmCollector,
  patienceMs,
  TooLong,
} from './pcm.ts';

/** Opus decodes to this rate, whatever it was made from. */
const sampleRate = 48_000;

/** Of each channel in a packet: 120 ms at more than the highest rate of the codec. */
const mostPacketBytes = 3840;

interface Head {
  channels: number;
  skip: number;
  /** Factor that the file asks for. */
  gain: number;
  streams: number;
  coupled: number;
  mapping: number[];
}

/**
 * Decodes Opus in Ogg (RFC 6716, RFC 7845). Null where the file holds none.
 *
 * @throws DecodeError, TooLong
 */
export async function decodeOpus(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedAudio | null> {
  const stream = readOgg(bytes, 'OpusHead');
  if (stream === null) return null;
  const head = readHead(needed(stream.packets[0], 19));
  const decoder = new OpusDecoder({
    channels: head.channels,
    streamCount: head.streams,
    coupledStreamCount: head.coupled,
    channelMappingTable: head.mapping,
    preSkip: 0,
  });
  await decoder.ready;
  try {
    const decoded = await decodePackets(decoder, head, stream, limits);
    decoder.free();
    return decoded;
  } catch (error) {
    if (error instanceof DecodeError || error instanceof TooLong) throw error;
    // Damage that libopus does not survive ends its own instance, which nobody uses again.
    throw new DecodeError('it cannot be decoded', { cause: error });
  }
}

async function decodePackets(
  decoder: OpusDecoder,
  head: Head,
  { packets, lastPosition, complete }: NonNullable<ReturnType<typeof readOgg>>,
  limits: DecodeLimits,
): Promise<DecodedAudio> {
  const collector = new PcmCollector({ sampleRate, channels: head.channels, bits: 16 }, limits);
  const turns = new Turns(patienceMs);
  // The last page may say that the end of its last packet is no sound.
  const end = lastPosition === null || !complete ? Number.POSITIVE_INFINITY : lastPosition;
  let position = 0;
  let wrong = 0;
  for (const packet of packets.slice(2)) {
    const frames = head.streams === 1 ? opusFrames(packet) : 0;
    if (frames === null || packet.length > mostPacketBytes * head.channels) {
      wrong += 1;
      continue;
    }
    const { channelData, samplesDecoded } = decoder.decodeFrame(packet);
    if (samplesDecoded === 0) wrong += 1;
    const from = Math.min(samplesDecoded, Math.max(0, head.skip - position));
    const to = Math.max(from, Math.min(samplesDecoded, end - position));
    if (head.gain !== 1)
      for (const values of channelData) for (const n of values.keys()) values[n]! *= head.gain;
    collector.addFloats(channelData, from, to);
    position += samplesDecoded;
    await turns.take();
  }
  if (collector.frames === 0) throw new DecodeError('it holds no sound');
  const warnings: string[] = [];
  if (wrong > 0) warnings.push(`The Opus file has ${wrong} damaged packets, which were left out.`);
  if (!complete) {
    warnings.push(
      'The Opus file ends before its last page, or is damaged there; what comes before was read.',
    );
  }
  return collector.finish(warnings);
}

function readHead(packet: Uint8Array): Head {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  const channels = packet[9]!;
  const family = packet[18]!;
  if (channels === 0 || packet[8]! > 15) throw new DecodeError('its first page describes no audio');
  const shared = {
    channels,
    skip: view.getUint16(10, true),
    gain: 10 ** (view.getInt16(16, true) / (20 * 256)),
  };
  if (family === 0) {
    if (channels > 2) throw new DecodeError(`it claims ${channels} channels without saying which`);
    return { ...shared, streams: 1, coupled: channels - 1, mapping: channels === 1 ? [0] : [0, 1] };
  }
  const table = needed(packet, 21 + channels);
  const streams = table[19]!;
  const coupled = table[20]!;
  const mapping = [...table.subarray(21, 21 + channels)];
  const fits = mapping.every((index) => index === 255 || index < streams + coupled);
  if (streams === 0 || coupled > streams || streams + coupled > 255 || !fits || channels > 8) {
    throw new DecodeError(`it claims ${channels} channels in a way that does not work out`);
  }
  return { ...shared, streams, coupled, mapping };
}

/** Frames in a packet; null where its lengths do not work out (RFC 6716, section 3.4). */
function opusFrames(packet: Uint8Array): number | null {
  const first = packet[0];
  if (first === undefined) return null;
  const config = first >> 3;
  // In units of 2.5 ms.
  const duration =
    config < 12 ? [4, 8, 16, 24][config & 3]! : config < 16 ? [4, 8][config & 1]! : 1 << (config & 3);
  const code = first & 3;
  if (code === 0) return packet.length > 1276 ? null : 1;
  if (code === 1) return (packet.length - 1) % 2 === 0 && packet.length <= 2551 ? 2 : null;
  if (code === 2) {
    const length = frameLength(packet, 1);
    return length !== null && length.next + length.bytes <= packet.length ? 2 : null;
  }
  const second = packet[1];
  if (second === undefined) return null;
  const count = second & 63;
  if (count === 0 || count * duration > 48) return null;
  let at = 2;
  let padding = 0;
  if ((second & 64) !== 0) {
    for (let byte = 255; byte === 255; at++) {
      if (at >= packet.length) return null;
      byte = packet[at]!;
      padding += byte === 255 ? 254 : byte;
    }
  }
  let bytes = 0;
  if ((second & 128) !== 0) {
    for (let frame = 1; frame < count; frame++) {
      const length = frameLength(packet, at);
      if (length === null) return null;
      at = length.next;
      bytes += length.bytes;
    }
  }
  const rest = packet.length - at - padding - bytes;
  return rest < 0 || ((second & 128) === 0 && rest % count !== 0) ? null : count;
}

function frameLength(packet: Uint8Array, at: number): { bytes: number; next: number } | null {
  const first = packet[at];
  if (first === undefined) return null;
  if (first < 252) return { bytes: first, next: at + 1 };
  const second = packet[at + 1];
  return second === undefined ? null : { bytes: first + 4 * second, next: at + 2 };
}

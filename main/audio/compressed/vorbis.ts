import { StbVorbis } from 'stb-vorbis';
import { needed, readOgg } from './ogg.ts';
import { type DecodedAudio, DecodeError, type DecodeLimits, PcmCollector, TooLong, Turns } from './pcm.ts';

const framesPerTurn = 65_536;

/**
 * Decodes Ogg Vorbis. Null where the file holds none.
 *
 * @throws DecodeError, TooLong
 */
export async function decodeVorbis(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedAudio | null> {
  const stream = readOgg(bytes, '\x01vorbis');
  if (stream === null) return null;
  const head = needed(stream.packets[0], 30);
  const channels = head[11]!;
  const sampleRate = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(12, true);
  if (channels === 0 || sampleRate === 0) throw new DecodeError('its first page describes no audio');
  // The decoder takes the file whole: what it may become is known from its packets, each of half a long block at most.
  const most = Math.max(0, stream.packets.length - 3) * 2 ** ((head[28]! >> 4) - 1);
  const claimed = stream.lastPosition ?? most;
  if (2 * channels * claimed > limits.bytes) throw new TooLong(claimed / sampleRate);
  if (channels * most > 2 * limits.bytes) {
    throw new DecodeError(
      `its ${stream.packets.length} packets may hold ${Math.round(most / sampleRate)} s of audio`,
    );
  }
  await StbVorbis.ready;
  const decoded = decodeWhole(bytes);
  if (decoded.sampleRate !== sampleRate || decoded.channels.length !== channels) {
    throw new DecodeError('its first page and its audio differ in rate or channels');
  }
  const collector = new PcmCollector({ sampleRate, channels, bits: 16 }, limits);
  const frames = decoded.channels[0]!.length;
  const turns = new Turns();
  for (let at = 0; at < frames; at += framesPerTurn) {
    collector.addFloats(decoded.channels, at, Math.min(frames, at + framesPerTurn));
    await turns.take();
  }
  if (collector.frames === 0) throw new DecodeError('it holds no sound');
  return collector.finish(
    stream.complete
      ? []
      : ['The Ogg file ends before its last page, or is damaged there; what can be decoded was read.'],
  );
}

function decodeWhole(bytes: Uint8Array): ReturnType<typeof StbVorbis.decode> {
  try {
    return StbVorbis.decode(bytes);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new DecodeError(`it cannot be decoded (${said.slice(0, 80)})`, { cause: error });
  }
}

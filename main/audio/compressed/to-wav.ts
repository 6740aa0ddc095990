import { StudioError } from '../../contract/errors.ts';
import { wavHeader } from '../wav-writer.ts';
import { decodeFlac } from './flac.ts';
import { decodeMp3, tagLength } from './mp3.ts';
import { headerAt } from './mpeg-frames.ts';
import { startsWith } from './ogg.ts';
import { decodeOpus } from './opus.ts';
import { type DecodedAudio, DecodeError, type DecodeLimits, TooLong } from './pcm.ts';
import { decodeVorbis } from './vorbis.ts';

export interface PlainAudio {
  wav: Uint8Array;
  /** `MP3`, ...; null where the file was WAV already. */
  format: string | null;
  warnings: string[];
}

type Decode = (bytes: Uint8Array, limits: DecodeLimits) => Promise<DecodedAudio>;

/**
 * FLAC, MP3, Ogg Vorbis and Ogg Opus as WAV; everything else as it is, for `WavReader` to judge.
 *
 * @throws StudioError `file_unreadable`, `reference_unusable` for a file that becomes more than the limit
 */
export async function toWav(bytes: Uint8Array, name: string, limits: DecodeLimits): Promise<PlainAudio> {
  const found = formatOf(bytes);
  if (found === null) return { wav: bytes, format: null, warnings: [] };
  const { format, decode } = found;
  try {
    const audio = await decode(bytes.subarray(found.at), limits);
    return { wav: wavOf(audio), format, warnings: audio.warnings };
  } catch (error) {
    if (error instanceof TooLong) throw tooLong(format, error.seconds, limits);
    if (!(error instanceof DecodeError)) throw error;
    throw new StudioError(
      'file_unreadable',
      `"${name}" is ${article(format)} ${format} file, but ${error.message}. Export it again, or convert it: ffmpeg -i INPUT reference.wav`,
      { params: { path: name, format, reason: error.message }, cause: error },
    );
  }
}

function formatOf(bytes: Uint8Array): { format: string; at: number; decode: Decode } | null {
  // A tag may stand before any format.
  const at = tagLength(bytes);
  const audio = bytes.subarray(at);
  if (startsWith(audio, 'fLaC')) return { format: 'FLAC', at, decode: decodeFlac };
  if (startsWith(audio, 'OggS')) return { format: 'Ogg', at, decode: decodeOgg };
  if (at > 0 || headerAt(bytes, 0) !== null) return { format: 'MP3', at: 0, decode: decodeMp3 };
  return null;
}

async function decodeOgg(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedAudio> {
  const decoded = (await decodeOpus(bytes, limits)) ?? (await decodeVorbis(bytes, limits));
  if (decoded !== null) return decoded;
  throw new DecodeError('it holds neither Opus nor Vorbis, or its first page is damaged');
}

function wavOf({ pcm, channels, bits, sampleRate }: DecodedAudio): Uint8Array {
  const frames = pcm.length / (channels * (bits / 8));
  const header = wavHeader(channels, frames, { sampleRate, encoding: bits === 24 ? 'pcm24' : 'pcm16' });
  const wav = new Uint8Array(header.length + pcm.length + (pcm.length % 2));
  wav.set(header);
  wav.set(pcm, header.length);
  return wav;
}

function tooLong(format: string, seconds: number, { bytes }: DecodeLimits): StudioError {
  const limit = Math.round(bytes / 2 ** 20);
  const shown = Math.floor(seconds);
  return new StudioError(
    'reference_unusable',
    `The ${format} file holds more than ${shown} s of audio, which is more than ${limit} MiB as WAV. Cut out a good passage.`,
    { params: { format, limit, seconds: shown } },
  );
}

function article(format: string): string {
  return format === 'FLAC' ? 'a' : 'an';
}

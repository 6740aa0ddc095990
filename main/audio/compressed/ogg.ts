import { DecodeError } from './pcm.ts';

/** One logical stream of an Ogg file (RFC 3533). */
export interface OggStream {
  packets: Uint8Array[];
  /** Position that the last page claims, in the codec's units; null where no page does. */
  lastPosition: number | null;
  /** The stream's own last page is there, and no page is damaged. */
  complete: boolean;
}

interface Page {
  serial: number;
  begins: boolean;
  ends: boolean;
  continues: boolean;
  position: number | null;
  segments: Uint8Array;
  body: Uint8Array;
}

/**
 * The first stream whose first packet begins with `mark`. Pages that are damaged end it.
 *
 * @returns null where there is none
 */
export function readOgg(bytes: Uint8Array, mark: string): OggStream | null {
  const packets: Uint8Array[] = [];
  let serial: number | null = null;
  let lastPosition: number | null = null;
  let open: Uint8Array[] = [];
  let complete = false;
  for (const page of pagesOf(bytes)) {
    if (serial === null) {
      if (!page.begins || !startsWith(page.body, mark)) continue;
      serial = page.serial;
    } else if (page.serial !== serial) continue;
    if (!page.continues) open = [];
    let at = 0;
    let length = 0;
    for (const segment of page.segments) {
      length += segment;
      if (segment === 255) continue;
      open.push(page.body.subarray(at, at + length));
      packets.push(joined(open));
      open = [];
      at += length;
      length = 0;
    }
    if (length > 0) open.push(page.body.subarray(at, at + length));
    lastPosition = page.position ?? lastPosition;
    if (page.ends) {
      complete = true;
      break;
    }
  }
  return serial === null ? null : { packets, lastPosition, complete };
}

function* pagesOf(bytes: Uint8Array): Generator<Page> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 27 <= bytes.length; ) {
    if (!startsWith(bytes.subarray(at, at + 4), 'OggS')) return;
    const flags = bytes[at + 5]!;
    const position = view.getBigInt64(at + 6, true);
    const count = bytes[at + 26]!;
    const segments = bytes.subarray(at + 27, at + 27 + count);
    const start = at + 27 + count;
    const end = start + segments.reduce((sum, segment) => sum + segment, 0);
    const page = {
      serial: view.getUint32(at + 14, true),
      continues: (flags & 1) !== 0,
      begins: (flags & 2) !== 0,
      segments,
      body: bytes.subarray(start, end),
    };
    if (end > bytes.length) {
      // Cut off: what is there has no checksum, and no position.
      yield { ...page, segments: wholeSegments(segments, bytes.length - start), ends: false, position: null };
      return;
    }
    if (checksum(bytes.subarray(at, end)) !== view.getUint32(at + 22, true)) return;
    yield { ...page, ends: (flags & 4) !== 0, position: position < 0n ? null : Number(position) };
    at = end;
  }
}

/** A file of one stream with these packets, whose pages say nothing of positions. */
export function writeOgg(packets: readonly Uint8Array[]): Uint8Array {
  const pages: Uint8Array[] = [];
  let segments: number[] = [];
  let body: Uint8Array[] = [];
  let continues = false;
  const flush = (last: boolean, more: boolean): void => {
    const flags = Number(continues) | (pages.length === 0 ? 2 : 0) | (last ? 4 : 0);
    pages.push(pageOf(segments, body, { flags, sequence: pages.length }));
    segments = [];
    body = [];
    continues = more;
  };
  for (const [index, packet] of packets.entries()) {
    for (let at = 0; at <= packet.length; at += 255) {
      if (segments.length === 255) flush(false, at > 0);
      segments.push(Math.min(255, packet.length - at));
      body.push(packet.subarray(at, at + 255));
    }
    // The first packet has a page of its own.
    if (index === 0) flush(packets.length === 1, false);
  }
  if (segments.length > 0) flush(true, false);
  return joined(pages);
}

function pageOf(
  segments: readonly number[],
  body: readonly Uint8Array[],
  { flags, sequence }: { flags: number; sequence: number },
): Uint8Array {
  const page = joined([new Uint8Array(27 + segments.length), ...body]);
  const view = new DataView(page.buffer);
  page.set([0x4f, 0x67, 0x67, 0x53, 0, flags]);
  view.setBigInt64(6, -1n, true);
  view.setUint32(14, 1, true);
  view.setUint32(18, sequence, true);
  page[26] = segments.length;
  page.set(segments, 27);
  view.setUint32(22, checksum(page), true);
  return page;
}

function wholeSegments(segments: Uint8Array, bytes: number): Uint8Array {
  let sum = 0;
  const count = segments.findIndex((segment) => {
    sum += segment;
    return sum > bytes;
  });
  return segments.subarray(0, count < 0 ? segments.length : count);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function startsWith(bytes: Uint8Array, mark: string): boolean {
  return [...mark].every((letter, index) => bytes[index] === letter.charCodeAt(0));
}

/** @throws DecodeError */
export function needed(packet: Uint8Array | undefined, bytes: number): Uint8Array {
  if (packet !== undefined && packet.length >= bytes) return packet;
  throw new DecodeError('its first pages are cut off');
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte << 24;
  for (let n = 0; n < 8; n++) rest = rest & 0x80000000 ? (rest << 1) ^ 0x04c11db7 : rest << 1;
  return rest >>> 0;
});

/** Of a page, its own field taken as zeros. */
function checksum(page: Uint8Array): number {
  let crc = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = at >= 22 && at < 26 ? 0 : page[at]!;
    crc = ((crc << 8) ^ table[(crc >>> 24) ^ byte]!) >>> 0;
  }
  return crc;
}

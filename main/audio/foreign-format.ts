const signatures: [number, string, string][] = [
  [0, 'RIFX', 'a big-endian RIFX file'],
  [0, 'FORM', 'an AIFF file'],
  [0, 'fLaC', 'a FLAC file'],
  [0, 'OggS', 'an Ogg file (Vorbis or Opus)'],
  [0, 'ID3', 'an MP3 file'],
  [4, 'ftyp', 'an MP4 or M4A file'],
  [0, '\x1aE\xdf\xa3', 'a WebM or Matroska file'],
  [0, 'caff', 'a CAF file'],
  [0, 'riff', 'a Wave64 file'],
  [0, '#!AMR', 'an AMR file'],
  [0, '.snd', 'a Sun/NeXT audio file'],
  [0, 'PK\x03\x04', 'a ZIP archive'],
  [0, 'version https://git-lfs', 'a Git LFS pointer, not the audio itself'],
  [0, 'RIFF', 'a RIFF file that holds no WAVE audio'],
];

/** Why `head`, the first bytes of a file of `size` bytes, is no WAV: fits after "cannot be read as WAV: ". */
export function describeForeign(head: Uint8Array, size: number): string {
  if (size === 0) return 'it is empty';
  const text = String.fromCharCode(...head);
  for (const [offset, mark, name] of signatures) {
    if (text.startsWith(mark, offset)) return `it is ${name}. Convert it to WAV first`;
  }
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) return 'it is a web page (a download may have failed)';
  // An MPEG audio frame: eleven bits set, then a layer that is not the reserved one.
  if (head[0] === 0xff && (head[1]! & 0xe0) === 0xe0 && (head[1]! & 0x06) !== 0) {
    return 'it is an MP3 or AAC file. Convert it to WAV first';
  }
  if (size < 44) return `it has only ${size} bytes, fewer than a WAV header`;
  return 'it does not start with a RIFF/WAVE header';
}

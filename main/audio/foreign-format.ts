const signatures: [number, string, string][] = [
  [0, 'RIFX', 'a big-endian RIFX file'],
  [0, 'FORM', 'an AIFF file'],
  [0, 'fLaC', 'a FLAC file'],
  [0, 'OggS', 'an Ogg file'],
  [0, 'ID3', 'an MP3 file'],
  [4, 'ftyp', 'an MP4 or M4A file'],
  [0, '\x1aE\xdf\xa3', 'a WebM or Matroska file'],
  [0, 'caff', 'a CAF file'],
  [0, 'riff', 'a Wave64 file'],
  [0, '#!AMR', 'an AMR file'],
  [0, '.snd', 'a Sun/NeXT audio file'],
  [0, 'PK\x03\x04', 'a ZIP archive'],
  [0, 'version https://git-lfs', 'a Git LFS pointer, not the audio itself'],
  [0, 'RIFF', 'a RIFF container with no WAVE audio'],
];

export interface Foreign {
  /** Fits after "cannot be read as WAV: ". */
  why: string;
  /** What it is, where it can be converted. */
  format: string | null;
}

/** Why `head`, the first bytes of a file of `size` bytes, is no WAV. */
export function describeForeign(head: Uint8Array, size: number): Foreign {
  const plain = (why: string): Foreign => ({ why, format: null });
  if (size === 0) return plain('it is empty');
  const text = String.fromCharCode(...head);
  for (const [offset, mark, name] of signatures) {
    if (!text.startsWith(mark, offset)) continue;
    return name.endsWith('file') ? convert(name) : plain(`it is ${name}`);
  }
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) return plain('it is a web page (a download may have failed)');
  // An MPEG audio frame; AAC has the layer that is reserved in MP3.
  if (head[0] === 0xff && (head[1]! & 0xe0) === 0xe0) {
    return convert((head[1]! & 0x06) === 0 ? 'an AAC file' : 'an MP3 file');
  }
  if (size < 44) return plain(`it has only ${size} bytes, fewer than a WAV header`);
  return plain('it does not start with a RIFF/WAVE header');
}

function convert(name: string): Foreign {
  return {
    why: `it is ${name}. Convert it first: ffmpeg -i INPUT reference.wav`,
    format: name.replace(/^an? | file$/g, ''),
  };
}

/** Names shared by the WAV reader and writer: RIFF/WAVE as in Microsoft's multimedia documents, RF64 as in EBU Tech 3306. */

/** How samples lie in a file. */
export type WavEncoding = 'pcm8' | 'pcm16' | 'pcm24' | 'pcm32' | 'float32' | 'float64';
/** What the writer offers. */
export type WavWriteEncoding = Exclude<WavEncoding, 'pcm8' | 'float64'>;

export const bytesPerSample: Record<WavEncoding, number> = {
  pcm8: 1,
  pcm16: 2,
  pcm24: 3,
  pcm32: 4,
  float32: 4,
  float64: 8,
};

export const formatTag = { pcm: 1, float: 3, extensible: 0xfffe } as const;

/** Codecs that hide in WAV files, by format tag: named in the refusal. */
export const codecNames: Record<number, string> = {
  2: 'Microsoft ADPCM',
  6: 'A-law',
  7: 'mu-law',
  17: 'IMA ADPCM',
  49: 'GSM 6.10',
  80: 'MPEG',
  85: 'MP3',
  255: 'AAC',
  353: 'WMA',
};

/** A length that the writer of a stream did not know. */
export const unknownLength = 0xffffffff;

export interface WavInfo {
  sampleRate: number;
  channels: number;
  encoding: WavEncoding;
  /** Sample frames that are really there. */
  frames: number;
  seconds: number;
  /** What was wrong but could be read all the same: for the log and the person. */
  warnings: string[];
}

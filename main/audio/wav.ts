/** WAV in and out. */
export type { WavEncoding, WavInfo, WavWriteEncoding } from './wav-format.ts';
export { readWav, readWavFile, type WavAudio } from './wav-reader.ts';
export { encodeWav, WavFileWriter, type WavOptions, type WavReport, wavHeader } from './wav-writer.ts';

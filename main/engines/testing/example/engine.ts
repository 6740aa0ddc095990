import { StudioError } from '../../../contract/errors.ts';
import type { KVCacheKind } from '../../../nn/kv-cache.ts';
import { Random } from '../../../nn/random.ts';
import { tiled1d } from '../../../runtime/tiled1d.ts';
import type { AudioChunk, Engine, EngineContext, SpeakTask } from '../../engine.ts';
import type { ExampleHandles, ExamplePasses } from './passes.ts';

const framesPerLetter = 3;
const maxLetters = 400;
/** Frames per piece of audio. */
const window = 16;

// #region speak
export class ExampleEngine implements Engine {
  readonly id = 'example';
  readonly phased = true;

  constructor(
    private readonly passes: ExamplePasses,
    private readonly handles: ExampleHandles,
  ) {}

  get sampleRate(): number {
    return this.passes.config.sample_rate;
  }

  async *speak(task: SpeakTask, ctx: EngineContext): AsyncGenerator<AudioChunk, void, void> {
    const letters = this.#letters(task.text);
    const frames = framesPerLetter * letters.length;
    const { talker, decoder, vocoder } = this.handles;
    const memory = this.#memory(letters.length, frames, ctx.kvCache);
    ctx.announce([
      { name: 'talker', handles: [talker], memory: memory.talker, passes: frames },
      { name: 'decoder', handles: [decoder], memory: memory.decoder },
      { name: 'vocoder', handles: [vocoder], memory: memory.vocoder, passes: Math.ceil(frames / window) },
    ]);

    const random = new Random(task.seed);
    const sampling = { temperature: Number(task.parameters.temperature), top_k: 20 };
    const run = { kind: ctx.kvCache, signal: ctx.signal };
    const onFrame = (done: number): void => ctx.progress((0.8 * done) / frames);
    const codes = await ctx.run(
      'talker',
      [talker],
      () => this.passes.generate(letters, frames, random, { ...sampling, ...run, onFrame }),
      memory.talker,
      { generators: [random], passes: frames },
    );

    const tile = { tile: 64, overlap: 8 };
    const features = await ctx.run(
      'decoder',
      [decoder],
      () => this.passes.decode(codes, ctx.signal),
      memory.decoder,
      {
        fallback: {
          what: 'tiled decoding',
          run: () =>
            tiled1d(frames, (from, to) => this.passes.decode(codes.slice(from, to), ctx.signal), tile),
          memory: this.passes.decoderBytes(Math.min(frames, tile.tile)),
        },
      },
    );

    let done = 0;
    const pieces = ctx.use(
      [vocoder],
      memory.vocoder,
      () => this.passes.vocode(features, window, ctx.signal),
      { name: 'vocoder', passes: Math.ceil(frames / window) },
    );
    for await (const samples of pieces) {
      done += 1;
      ctx.progress(0.8 + 0.2 * Math.min(1, (done * window) / frames), { chunksDone: done });
      yield { samples, text: done === 1 ? task.text : '' };
    }
  }

  memoryRequired(task: SpeakTask): number {
    const letters = Math.min(task.text.length, maxLetters);
    return Math.max(...Object.values(this.#memory(letters, framesPerLetter * letters, 'static')));
  }

  async unload(): Promise<void> {
    await this.passes.graphs.dispose();
  }

  /** Bytes of working memory by stage, for this request: never for the longest possible one. */
  #memory(letters: number, frames: number, kind: KVCacheKind) {
    return {
      talker: this.passes.talkerBytes(letters, frames, kind),
      decoder: this.passes.decoderBytes(frames),
      vocoder: this.passes.vocoderBytes(this.passes.vocoderFrames(window, frames)),
    };
  }
  // #endregion

  /** @throws StudioError `text_not_speakable`, `text_too_long` */
  #letters(text: string): Int32Array {
    const known = this.passes.config.letters;
    const letters = [...text.toLowerCase()].map((letter) => known.indexOf(letter)).filter((id) => id >= 0);
    if (letters.length === 0) {
      throw new StudioError(
        'text_not_speakable',
        'Nothing in the text can be said aloud: the example knows the letters a to z. Write some of them.',
        { params: { script: 'symbols', share: 100, speaks: 'English' } },
      );
    }
    if (letters.length > maxLetters) {
      throw new StudioError(
        'text_too_long',
        `The example speaks at most ${maxLetters} letters at once; these are ${letters.length}. Shorten the text.`,
        { params: { length: letters.length, limit: maxLetters } },
      );
    }
    return Int32Array.from(letters);
  }
}

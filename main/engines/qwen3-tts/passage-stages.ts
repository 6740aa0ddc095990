import { say } from '../../contract/said.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { KVCacheKind } from '../../nn/kv-cache.ts';
import type { Random } from '../../nn/random.ts';
import type { AnnouncedStage } from '../../runtime/types.ts';
import type { EngineContext } from '../engine.ts';
import type { CodecDecoding } from './codec-decoding.ts';
import { FrameStream } from './frame-stream.ts';
import type { FrameGenerator, GenerateOptions, GenerationEnd } from './generate.ts';
import type { PromptEmbedder, TalkerPrompt } from './generate-prompt.ts';
import { SampleStream } from './sample-stream.ts';
import { nextStretch } from './stretches.ts';
import type { TalkerMemory } from './talker-memory.ts';

export interface PassageParts {
  talker: ModelHandle;
  predictor: ModelHandle;
  decoder: ModelHandle;
  embedder: PromptEmbedder;
  /** By the kind of the talker's cache. */
  generators: Record<KVCacheKind, FrameGenerator>;
  memory: TalkerMemory;
  decoding: CodecDecoding;
  /** Samples per second. */
  sampleRate: number;
}

/** How much a passage is, before it is spoken. */
export interface PassageSize {
  /** Positions of the prompt. */
  prompt: number;
  /** Frames after which it is cut off: what memory is reserved for. */
  limit: number;
  /** Frames of the reference that are decoded before it. */
  before: number;
}

export interface PassageTask {
  prompt: TalkerPrompt;
  sampling: Pick<GenerateOptions, 'sampling' | 'predictor'>;
  /** At its beginning; never advanced here, so that frames can be drawn again. */
  random: Random;
  limit: number;
  /** Of the reference: the passage's samples continue theirs. */
  before: readonly Int32Array[];
}

/** The next samples of a passage. */
export interface PassagePiece {
  samples: Float32Array;
  /** Frames drawn so far. */
  frames: number;
}

/** The stages of a passage: talker and codec decoder in turn, stretch by stretch. */
export class PassageStages {
  readonly #parts: PassageParts;

  constructor(parts: PassageParts) {
    this.#parts = parts;
  }

  /** Does beforehand, step by step, what `stages` would do at once. */
  async prepare({ prompt, limit, before }: PassageSize): Promise<void> {
    await this.#parts.memory.prepare(prompt, limit);
    await this.#parts.decoding.prepare(before + limit);
  }

  /** In running order, for plans made before the first runs. */
  stages({ prompt, limit, before }: PassageSize, kind: KVCacheKind): AnnouncedStage[] {
    const { memory, decoding } = this.#parts;
    return [
      {
        name: 'talker',
        handles: this.#talking,
        memory: memory.bytes(prompt, limit, kind),
        passes: limit,
        goesOn: true,
      },
      {
        name: 'codec decoder',
        handles: [this.#parts.decoder],
        memory: decoding.workingBytes(before + limit),
      },
    ];
  }

  async *speak(task: PassageTask, ctx: EngineContext): AsyncGenerator<PassagePiece, void, void> {
    const { before, limit, prompt } = task;
    const size = { prompt: prompt.rows.length, limit, before: before.length };
    await this.prepare(size);
    const [talker, decoder] = this.stages(size, ctx.kvCache) as [AnnouncedStage, AnnouncedStage];
    const drawn = new FrameStream(() => this.#draw(task, ctx));
    const decoded = new SampleStream(this.#parts.decoding, before.length);
    try {
      for (let stretch = 0, wanted = 0; drawn.end === null; ) {
        stretch = nextStretch(stretch, [...talker.handles, ...decoder.handles]);
        wanted += stretch;
        // What the cache holds already is not taken a second time.
        const held = drawn.open ? this.#parts.memory.heldBytes(size.prompt, drawn.frames.length) : 0;
        const working = Math.max(0, talker.memory - held);
        await ctx.run(talker.name, talker.handles, () => drawn.drawTo(wanted), working, {
          passes: stretch,
          goesOn: true,
        });
        const frames = [...before, ...drawn.frames];
        const last = drawn.end !== null;
        await ctx.run(
          decoder.name,
          decoder.handles,
          () => decoded.decode(frames, last, ctx.signal),
          decoder.memory,
        );
        const samples = decoded.take();
        if (samples.length > 0) yield { samples, frames: drawn.frames.length };
      }
      if (drawn.end === 'limit') ctx.warn(say('speech_cut', { seconds: this.#seconds(limit) }));
    } finally {
      await drawn.close();
      decoded.close();
    }
  }

  get #talking(): ModelHandle[] {
    return [this.#parts.predictor, this.#parts.talker];
  }

  async *#draw(task: PassageTask, ctx: EngineContext): AsyncGenerator<Int32Array, GenerationEnd> {
    const { embedder, generators } = this.#parts;
    const { signal } = ctx;
    const random = task.random.fork('frames');
    const prompt = await embedder.embed(task.prompt, signal);
    return yield* generators[ctx.kvCache].frames(prompt, {
      ...task.sampling,
      random,
      maxFrames: task.limit,
      signal,
    });
  }

  #seconds(frames: number): number {
    const { decoding, sampleRate } = this.#parts;
    return Math.round((10 * frames * decoding.samplesPerFrame) / sampleRate) / 10;
  }
}

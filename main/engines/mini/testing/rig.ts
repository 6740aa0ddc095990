import { loadAddon } from '../../../../native/load.ts';
import { defaultSettings, type Settings } from '../../../contract/settings.ts';
import type { DTypePolicy } from '../../../nn/dtypes.ts';
import { RuntimeService } from '../../../runtime/runtime-service.ts';
import type { RequestContext } from '../../../runtime/stage-context.ts';
import type { AudioChunk, SpeakTask } from '../../engine.ts';
import { plainTask } from '../../plain-task.ts';
import { miniEngine } from '../index.ts';
import { loadMini } from '../load.ts';
import type { MiniNetworks } from '../networks.ts';
import type { TextReader, Utterance } from '../utterances.ts';
import { type Golden, readGoldens, voiceFolder } from './golden.ts';

// ggml passes over Vulkan devices that run on the processor unless they are named before it starts.
process.env.GGML_VK_VISIBLE_DEVICES ??= '0';

export const addon = loadAddon();

/** A runtime with the built-in voice as its only model. */
export class Rig {
  private constructor(
    readonly runtime: RuntimeService,
    readonly settings: Settings,
    private readonly dtype: DTypePolicy,
    private readonly folder: string,
    private readonly readText: TextReader | undefined,
  ) {}

  static async open(
    change: Partial<Settings> = {},
    options: { dtype?: DTypePolicy; folder?: string; readText?: TextReader } = {},
  ): Promise<Rig> {
    const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
    const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
    return new Rig(
      runtime,
      settings,
      options.dtype ?? 'keep',
      options.folder ?? voiceFolder,
      options.readText,
    );
  }

  /** The networks with all their weights on the device, for as long as `body` runs. */
  async withNetworks<T>(
    body: (networks: MiniNetworks, signal: RequestContext['signal']) => Promise<T>,
  ): Promise<T> {
    const book = await this.runtime.deviceFor(this.settings);
    const source = this.#source();
    const lease = await this.runtime.acquire(source, book);
    try {
      const { networks } = lease.value;
      const ctx = this.runtime.startRequest({
        id: 'networks',
        book,
        settings: this.settings,
        signal: new AbortController().signal,
      });
      return await ctx.run(
        'test',
        [networks.acoustic, networks.vocoder],
        () => body(networks, ctx.signal),
        2 ** 24,
      );
    } finally {
      lease.release();
    }
  }

  /** Speak and keep every chunk. `onChunk` may stop the request. */
  async speak(task: Partial<SpeakTask> & { text: string }, options: SpeakOptions = {}): Promise<Spoken> {
    const book = await this.runtime.deviceFor(this.settings);
    const lease = await this.runtime.acquire(this.#source(), book);
    const abort = new AbortController();
    const progress: number[] = [];
    const ctx = this.runtime.startRequest({
      id: `speak ${++requests}`,
      book,
      settings: this.settings,
      signal: abort.signal,
      onProgress: ({ fraction }) => progress.push(fraction),
    });
    const chunks: AudioChunk[] = [];
    try {
      const full: SpeakTask = { ...plainTask(miniEngine().builtIn()[0]!, [], task.text), ...task };
      for await (const chunk of lease.value.engine.speak(full, ctx)) {
        chunks.push(chunk);
        options.onChunk?.(chunk, abort);
      }
      return { chunks, samples: join(chunks), ctx, progress };
    } finally {
      lease.release();
    }
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  #source() {
    const { dtype, folder, readText } = this;
    return {
      id: 'mini',
      engine: 'mini',
      name: 'Mini',
      load: async (context: Parameters<typeof loadMini>[1]) => {
        const { value, networks, ...rest } = await loadMini({ addon, folder, dtype, readText }, context);
        return { ...rest, value: { engine: value, networks } };
      },
    };
  }
}

let requests = 0;

export interface SpeakOptions {
  onChunk?: (chunk: AudioChunk, abort: AbortController) => void;
}

export interface Spoken {
  chunks: AudioChunk[];
  samples: Float32Array;
  ctx: RequestContext;
  progress: number[];
}

function join(chunks: readonly AudioChunk[]): Float32Array {
  const out = new Float32Array(chunks.reduce((length, { samples }) => length + samples.length, 0));
  let at = 0;
  for (const { samples } of chunks) {
    out.set(samples, at);
    at += samples.length;
  }
  return out;
}

/**
 * Reads texts made of `0`, `1` and `2` as the golden sentences of those numbers, so that the engine can be tested
 * apart from the pronunciation of words. `012` is three utterances; `?` behind a number makes it a question.
 */
export function goldenReader(goldens: readonly Golden[] = readGoldens()): TextReader {
  return (text) => ({
    warnings: [],
    *utterances(): Iterable<Utterance> {
      for (const { 0: part, index } of text.matchAll(/\d\??/g)) {
        const { phone_ids, word_start } = goldens[Number(part[0])]!;
        yield {
          text: part,
          ids: phone_ids,
          wordStarts: word_start,
          ending: part.endsWith('?') ? 'question' : 'statement',
          boundary: 'sentence',
          progress: { from: index / text.length, to: (index + part.length) / text.length },
        };
      }
    },
  });
}

/** All golden sentences as one utterance, `times` over: long enough for several windows. */
export function longReader(times: number, goldens: readonly Golden[] = readGoldens()): TextReader {
  const phones = Array.from({ length: times }, () => goldens).flat();
  const flat = (name: 'phone_ids' | 'word_start') =>
    Int32Array.from(phones.flatMap((golden) => [...golden[name]]));
  return (text) => ({
    warnings: [],
    utterances: () => [
      {
        text,
        ids: flat('phone_ids'),
        wordStarts: flat('word_start'),
        ending: 'statement',
        boundary: 'paragraph',
        progress: { from: 0, to: 1 },
      },
    ],
  });
}

import path from 'node:path';
import { defaultSettings, type Settings } from '../../../contract/settings.ts';
import type { DTypePolicy } from '../../../nn/dtypes.ts';
import { addon } from '../../../nn/testing/devices.ts';
import { RuntimeService } from '../../../runtime/runtime-service.ts';
import type { RequestContext } from '../../../runtime/stage-context.ts';
import { noVoicePrompts, type VoicePrompts } from '../../../voices/voice-prompts.ts';
import type { AudioChunk, SpeakTask } from '../../engine.ts';
import { parameterDefaults } from '../../plain-task.ts';
import { loadQwen3Tts } from '../load.ts';
import { samplingParameters } from '../sampling.ts';

export const tinyFolder = path.join(import.meta.dirname, '..', 'fixtures', 'tiny');

export type TinyKind = 'base' | 'custom_voice' | 'voice_design';

export interface RigOptions {
  settings?: Partial<Settings>;
  dtype?: DTypePolicy;
  voicePrompts?: VoicePrompts;
}

/** A runtime with one of the tiny checkpoints as its only model. */
export class EngineRig {
  private constructor(
    readonly runtime: RuntimeService,
    readonly settings: Settings,
    private readonly kind: TinyKind,
    private readonly options: RigOptions,
  ) {}

  static async open(kind: TinyKind, options: RigOptions = {}): Promise<EngineRig> {
    const change = options.settings ?? {};
    const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
    const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
    return new EngineRig(runtime, settings, kind, options);
  }

  /** @param watch gets each chunk as it comes; what it throws ends the request. */
  async speak(
    task: Partial<SpeakTask>,
    watch: (chunk: AudioChunk, ctx: RequestContext) => void | Promise<void> = () => {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<{ samples: Float32Array; chunks: AudioChunk[]; ctx: RequestContext; progress: number[] }> {
    const { kind, runtime, settings } = this;
    const { dtype, voicePrompts = noVoicePrompts } = this.options;
    const book = await runtime.deviceFor(settings);
    const model = { id: `qwen3-tts:${kind}`, folder: path.join(tinyFolder, kind), version: '1' };
    const source = {
      id: model.id,
      engine: 'qwen3-tts',
      name: kind,
      load: (context: Parameters<typeof loadQwen3Tts>[1]) =>
        loadQwen3Tts({ addon, model, voicePrompts, ...(dtype === undefined ? {} : { dtype }) }, context),
    };
    const lease = await runtime.acquire(source, book, signal);
    try {
      const progress: number[] = [];
      const onProgress = ({ fraction }: { fraction: number }) => progress.push(fraction);
      const ctx = runtime.startRequest({ id: 'test', book, settings, signal, onProgress });
      const chunks: AudioChunk[] = [];
      for await (const chunk of lease.value.speak(taskOf(model.id, task), ctx)) {
        chunks.push(chunk);
        await watch(chunk, ctx);
      }
      return { samples: joined(chunks), chunks, ctx, progress };
    } finally {
      lease.release();
    }
  }

  close(): Promise<void> {
    return this.runtime.close();
  }
}

/** Nothing is drawn by chance. */
export const greedy = { temperature: 0, subtalker_temperature: 0 };

export function taskOf(model: string, task: Partial<SpeakTask>): SpeakTask {
  return {
    model,
    text: 'hello there.',
    voice: '',
    seed: 1,
    speed: 1,
    pitch: 1,
    language: 'auto',
    instruct: null,
    reference: null,
    ...task,
    parameters: { ...parameterDefaults(samplingParameters), ...task.parameters },
  };
}

function joined(chunks: readonly AudioChunk[]): Float32Array {
  const samples = new Float32Array(chunks.reduce((length, chunk) => length + chunk.samples.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    samples.set(chunk.samples, at);
    at += chunk.samples.length;
  }
  return samples;
}

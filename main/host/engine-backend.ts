import { randomUUID } from 'node:crypto';
import type { Addon } from '../../native/addon.ts';
import { type EngineInfo, type Settings, StudioError } from '../contract/index.ts';
import type { AudioChunk, Engine, EngineDefinition } from '../engines/engine.ts';
import { chooseDevice } from '../runtime/device-service.ts';
import type { Lease, ModelSource, RequestContext, RuntimeService } from '../runtime/index.ts';
import type {
  DeviceQueue,
  RuntimeView,
  SpeechBackend,
  SpeechContext,
  SpeechOutcome,
  SpeechTask,
  SpokenChunk,
} from './backend.ts';

/** The real thing: engines of the registry on devices and memory of the runtime. */
export class EngineBackend implements SpeechBackend {
  readonly ggmlVersion: string;
  readonly #addon: Addon;

  constructor(
    private readonly runtime: RuntimeService,
    private readonly definitions: readonly EngineDefinition[],
  ) {
    this.#addon = runtime.addon;
    this.ggmlVersion = runtime.addon.versions.ggml;
  }

  engines(): EngineInfo[] {
    return this.definitions.map((definition) => definition.info());
  }

  queueFor(_engine: string, settings: Settings): DeviceQueue {
    const { name, simulateBytes } = chooseDevice(settings, this.runtime.devices.infos());
    // The processor is one device with all its cores: two requests at once would only take turns.
    if (simulateBytes === null && name === 'CPU') return { id: name, slots: 1 };
    return { id: simulateBytes === null ? name : 'Simulated0', slots: settings['compute.gpu_jobs'] };
  }

  async *speak(task: SpeechTask, context: SpeechContext): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const { signal } = context;
    try {
      const book = await this.runtime.deviceFor(task.settings);
      const lease = await this.runtime.acquire(this.#model(task.engine, task.voice), book, signal);
      try {
        const request = this.runtime.startRequest({
          id: randomUUID(),
          book,
          settings: task.settings,
          signal,
          onProgress: (progress) => context.progress(progress),
        });
        Object.assign(request.applied, { speed: task.speed, pitch: task.pitch });
        for await (const { samples, text } of voiced(lease, task, request)) yield { samples, text };
        return { applied: request.applied, memory: request.report(), warnings: request.warnings };
      } finally {
        lease.release();
      }
    } catch (error) {
      if (isOutOfMemory(error)) await this.runtime.releaseAfterOom();
      throw error;
    }
  }

  view(): RuntimeView {
    return this.runtime.view();
  }

  onChange(listener: () => void): void {
    this.runtime.onChange(listener);
  }

  async load(model: string): Promise<void> {
    const book = await this.runtime.deviceFor();
    const lease = await this.runtime.acquire(this.#modelById(model), book);
    lease.release();
  }

  unload(model: string): Promise<number> {
    return this.runtime.unload(model);
  }

  async pin(model: string, pinned: boolean): Promise<void> {
    this.#modelById(model);
    await this.runtime.pin(model, pinned);
  }

  configure(settings: Settings): Promise<void> {
    return this.runtime.configure(settings);
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  #model(engine: string, voice: string): ModelSource<Engine> {
    const definition = this.definitions.find(({ id }) => id === engine);
    if (!definition) throw new StudioError('unknown_engine', `There is no engine named "${engine}".`);
    return definition.model(this.#addon, voice);
  }

  /** The model of that id among those that the engines' voices need. */
  #modelById(id: string): ModelSource<Engine> {
    const known: string[] = [];
    for (const definition of this.definitions) {
      for (const voice of definition.info().voices) {
        const source = definition.model(this.#addon, voice.id);
        if (source.id === id) return source;
        if (!known.includes(source.id)) known.push(source.id);
      }
    }
    throw new StudioError(
      'invalid_request',
      `There is no model "${id.slice(0, 60)}". There is: ${known.join(', ')}.`,
      {
        params: { call: 'models', field: 'model', model: id.slice(0, 60), known: known.join(', ') },
      },
    );
  }
}

/** An engine without stages gets all its components for the whole request. */
function voiced(lease: Lease<Engine>, task: SpeechTask, request: RequestContext): AsyncIterable<AudioChunk> {
  const engine = lease.value;
  const { text, voice, seed, speed, pitch } = task;
  const wanted = { text, voice, seed, speed, pitch };
  if (engine.phased) return engine.speak(wanted, request);
  const memory = engine.memoryRequired(wanted);
  return request.use([...lease.handles], memory, () => engine.speak(wanted, request), { name: engine.id });
}

function isOutOfMemory(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'out_of_device_memory' || code === 'OutOfDeviceMemory';
}

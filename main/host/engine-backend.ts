import { randomUUID } from 'node:crypto';
import type { Addon, DeviceInfo } from '../../native/addon.ts';
import type {
  CallRequest,
  CallResponse,
  EngineInfo,
  SelfTest,
  Settings,
  VerifyRun,
} from '../contract/index.ts';
import type { Engine, EngineDefinition, EngineServices } from '../engines/engine.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { InstalledModel } from '../models/types.ts';
import { type Lease, type ModelSource, RuntimeService } from '../runtime/index.ts';
import { lostAndReopened, lostForGood } from '../runtime/lost-device.ts';
import { failedSelfTest, selfTest } from '../runtime/verify/self-test.ts';
import { noVoicePrompts, type VoicePrompts } from '../voices/voice-prompts.ts';
import type {
  DeviceQueue,
  EngineTrial,
  RuntimeView,
  SpeechBackend,
  SpeechContext,
  SpeechOutcome,
  SpeechTask,
  SpokenChunk,
  VerifyTask,
} from './backend.ts';
import { toErrorBody } from './failures.ts';
import { InstalledEngines } from './installed-engines.ts';
import type { StartDeviceProcess } from './isolated/device-task.ts';
import { runDeviceTask } from './isolated/run-task.ts';
import { unknownModel } from './speech-model.ts';
import { verifyEngines } from './verify-engines.ts';
import { voiced } from './voiced.ts';

export interface EngineBackendOptions {
  /** Where graphics devices are tested, so that a driver's crash ends nothing else; absent: in this process. */
  startProcess?: StartDeviceProcess | undefined;
  voicePrompts?: VoicePrompts;
}

/** The real thing: engines of the registry on devices and memory of the runtime. */
export class EngineBackend implements SpeechBackend {
  readonly ggmlVersion: string;
  readonly #addon: Addon;
  readonly #services: EngineServices;
  readonly #startProcess: StartDeviceProcess | undefined;
  readonly #installed: InstalledEngines;
  readonly #closing = new AbortController();
  /** One verification at a time: each measures, and each takes the memory that it needs. */
  #verifying: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly runtime: RuntimeService,
    definitions: readonly EngineDefinition[],
    { startProcess, voicePrompts = noVoicePrompts }: EngineBackendOptions = {},
  ) {
    this.#startProcess = startProcess;
    this.#installed = new InstalledEngines(definitions);
    this.#addon = runtime.addon;
    this.#services = { addon: runtime.addon, voicePrompts };
    this.ggmlVersion = runtime.addon.versions.ggml;
  }

  engines(): EngineInfo[] {
    return this.#installed.engines();
  }

  setModels(models: readonly InstalledModel[]): void {
    this.#installed.setModels(models);
  }

  queueFor(engine: string, settings: Settings): DeviceQueue {
    const { passOver } = this.runtime.devices;
    return this.#installed.queueFor(engine, settings, this.devices(), passOver);
  }

  devices(): DeviceInfo[] {
    return this.runtime.devices.infos();
  }

  passOver(devices: readonly string[]): void {
    this.runtime.devices.passOver = devices;
  }

  async *speak(task: SpeechTask, context: SpeechContext): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const { signal } = context;
    try {
      const { book, release } = await this.runtime.claimDevice(task.settings);
      let lease: Lease<Engine> | null = null;
      try {
        lease = await this.runtime.acquire(this.#source(task.model), book, signal);
        const request = this.runtime.startRequest({
          id: randomUUID(),
          book,
          settings: task.settings,
          signal,
          onProgress: (progress) => context.progress(progress),
        });
        const {
          engine: _engine,
          sampleRate: _rate,
          settings: _settings,
          warnings: _warnings,
          ...wanted
        } = task;
        const { speed, pitch, language, parameters } = task;
        Object.assign(request.applied, { speed, pitch, language, ...parameters });
        for await (const { samples, text } of voiced(lease, wanted, request)) yield { samples, text };
        return { applied: request.applied, memory: request.report(), warnings: request.warnings };
      } catch (error) {
        throw this.#explained(error, book);
      } finally {
        lease?.release();
        release();
      }
    } catch (error) {
      if (isOutOfMemory(error)) await this.runtime.releaseAfterOom();
      throw error;
    }
  }

  verify(
    { engines, settings, asked, text }: VerifyTask,
    onRun: (run: VerifyRun) => void,
  ): Promise<VerifyRun[]> {
    const definitions = this.#installed.definitions.filter(({ id }) => engines.includes(id));
    const models = new Map(
      definitions.flatMap((definition) =>
        this.#installed
          .modelsOf(definition)
          .slice(0, 1)
          .map((model) => [definition.id, model]),
      ),
    );
    const begin = async (): Promise<VerifyRun[]> => {
      // The models of a verification are its own: what nobody uses makes room for them.
      await this.runtime.models.unloadIdle();
      const signal = this.#closing.signal;
      const startProcess = this.#startProcess;
      const elsewhere = startProcess === undefined ? {} : { startProcess };
      const about = { addon: this.#addon, definitions, models, settings, asked, text, signal, onRun };
      return verifyEngines({ ...about, ...elsewhere });
    };
    const result = this.#verifying.then(begin, begin);
    this.#verifying = result.catch(() => {});
    return result;
  }

  async tryEngines(): Promise<EngineTrial[]> {
    const settings = {
      ...this.runtime.settings,
      'compute.device': 'CPU',
      'compute.simulate_vram_mb': null,
      'compute.vram_limit_mb': null,
    };
    const trials: EngineTrial[] = [];
    for (const definition of this.#installed.definitions) {
      const model = definition.builtIn()[0];
      if (!model) continue;
      const start = performance.now();
      const trial = { engine: model.engine, name: model.name, bytes: model.sizeBytes };
      try {
        // A runtime of its own: a model that is loaded already would prove nothing, and must not move.
        const own = await RuntimeService.open({ addon: this.#addon, settings, cacheFolder: null });
        try {
          (
            await own.acquire(
              definition.model(this.#services, model),
              await own.deviceFor(),
              this.#closing.signal,
            )
          ).release();
        } finally {
          await own.close();
        }
        trials.push({ ...trial, seconds: (performance.now() - start) / 1000, error: null });
      } catch (error) {
        trials.push({ ...trial, seconds: 0, error: toErrorBody(error) });
      }
    }
    return trials;
  }

  async selfTest(): Promise<SelfTest[]> {
    const tests: SelfTest[] = [];
    for (const info of this.#addon.devices()) {
      this.#closing.signal.throwIfAborted();
      if (info.kind === 'cpu' || this.#startProcess === undefined) {
        tests.push(await selfTest(this.#addon, info, toErrorBody));
      } else tests.push(await this.#testElsewhere(info.name, this.#startProcess));
    }
    return tests;
  }

  async #testElsewhere(device: string, start: StartDeviceProcess): Promise<SelfTest> {
    const began = performance.now();
    const task = { kind: 'self-test', device } as const;
    try {
      const test = await runDeviceTask(start, task, { signal: this.#closing.signal });
      if (test !== null) return test;
      throw new Error('The self-test ended without a result.');
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      return failedSelfTest(device, toErrorBody(error), (performance.now() - began) / 1000);
    }
  }

  view(): RuntimeView {
    return this.runtime.view();
  }

  whatIf(request: CallRequest<'runtime.what_if'>): CallResponse<'runtime.what_if'> {
    return this.runtime.whatIf.report(request);
  }

  whatIfCurve(request: CallRequest<'runtime.what_if_curve'>): Promise<CallResponse<'runtime.what_if_curve'>> {
    return this.runtime.whatIf.curves(request);
  }

  timeline(request: CallRequest<'runtime.timeline'>): CallResponse<'runtime.timeline'> {
    return this.runtime.timeline(request);
  }

  trace(): CallResponse<'runtime.trace'> {
    return this.runtime.exportTrace();
  }

  onChange(listener: () => void): void {
    this.runtime.onChange(listener);
  }

  async load(model: string): Promise<void> {
    const { book, release } = await this.runtime.claimDevice();
    try {
      (await this.runtime.acquire(this.#source(model), book)).release();
    } catch (error) {
      throw this.#explained(error, book);
    } finally {
      release();
    }
  }

  unload(model: string): Promise<number> {
    return this.runtime.unload(model);
  }

  async pin(model: string, pinned: boolean): Promise<void> {
    this.#source(model);
    await this.runtime.pin(model, pinned);
  }

  configure(settings: Settings): Promise<void> {
    return this.runtime.configure(settings);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#verifying;
    await this.runtime.close();
  }

  /** A device that stopped responding: what became of it, and what to do. */
  #explained(error: unknown, book: DeviceBook): unknown {
    if (!(error instanceof Error && 'code' in error && error.code === 'DeviceLost')) return error;
    const explain = this.runtime.deviceLost(book) ? lostAndReopened : lostForGood;
    return explain(book.id, error.stack ?? error.message);
  }

  /** @throws StudioError `unknown_model` */
  #source(id: string): ModelSource<Engine> {
    const known: string[] = [];
    for (const definition of this.#installed.definitions) {
      for (const model of this.#installed.modelsOf(definition)) {
        if (model.id === id) return definition.model(this.#services, model);
        known.push(model.id);
      }
    }
    throw unknownModel(id, known);
  }
}

function isOutOfMemory(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'out_of_device_memory' || code === 'OutOfDeviceMemory';
}

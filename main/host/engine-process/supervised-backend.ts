import {
  type CallRequest,
  type CallResponse,
  type EngineInfo,
  type Said,
  type SelfTest,
  type Settings,
  StudioError,
  say,
  sayOfError,
  type VerifyRun,
} from '../../contract/index.ts';
import type { InstalledModel } from '../../models/types.ts';
import { SaidPins } from '../../runtime/said-pins.ts';
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
} from '../backend.ts';
import { toErrorBody } from '../failures.ts';
import { endText, type ProcessEnd, type StartProcess } from '../isolated/own-process.ts';
import { ContinuedTimeline } from './continued-timeline.ts';
import { DeviceHealth, type KnownEngines, lossLimit, lossMinutes } from './device-health.ts';
import type { EngineCall, EngineOptions, EngineSide } from './protocol.ts';
import { type Answer, EngineGone, type Patience, RemoteEngine } from './remote-engine.ts';

export interface SupervisedOptions extends Pick<EngineOptions, 'cacheFolder' | 'testEngines'> {
  startProcess: StartProcess;
  settings: Settings;
  known: KnownEngines;
  log: (level: 'info' | 'warning' | 'error', message: string, said?: Said) => void;
  now?: () => number;
  patience?: Partial<Patience>;
}

/** A process that gives back its devices is not waited for longer. */
const closeMs = 4000;

const deviceSettings = ['compute.device', 'compute.simulate_vram_mb'] as const;

/**
 * Engines and devices in a process of their own. When a device is lost or a driver crashes, the process is replaced: a
 * driver that was reset keeps its state for as long as its process lives. A request that has given out no sound is
 * repeated once; what waits goes on; pins and models that were asked for come back. A device that is lost again and
 * again is passed over.
 */
export class SupervisedBackend implements SpeechBackend {
  readonly #options: SupervisedOptions;
  readonly #health: DeviceHealth;
  #settings: Settings;
  #models: readonly InstalledModel[] = [];
  #engine: Promise<RemoteEngine> | null = null;
  /** What `#engine` became. */
  #live: RemoteEngine | null = null;
  #ggmlVersion = '';
  /** Processes that finish what they were asked before they end. */
  readonly #retiring = new Map<RemoteEngine, Promise<void>>();
  readonly #running = new Set<{ engine: RemoteEngine; device: string }>();
  readonly #pins = new SaidPins();
  readonly #wished = new Set<string>();
  /** Models that were loaded when the engine was looked at last. */
  #loaded: readonly string[] = [];
  /** How the engine looked last; null before the first look. */
  #seen: RuntimeView | null = null;
  readonly #timeline = new ContinuedTimeline();
  #lastWords: Promise<void> = Promise.resolve();
  #listener: () => void = () => {};
  #closing = false;

  private constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#settings = options.settings;
    const { known, now = Date.now, log } = options;
    const told = (said: Said): void => {
      log('warning', said.message, said);
      this.#listener();
    };
    this.#health = new DeviceHealth({ known, now, told });
  }

  /** @throws EngineGone where there can be no such process here; StudioError where its engines do not open. */
  static async open(options: SupervisedOptions): Promise<SupervisedBackend> {
    const backend = new SupervisedBackend(options);
    try {
      await backend.#current();
    } catch (error) {
      await backend.close();
      throw error instanceof EngineGone && error.begun ? crashed(error) : error;
    }
    return backend;
  }

  get ggmlVersion(): string {
    return this.#ggmlVersion;
  }

  engines(): EngineInfo[] {
    return this.#options.known.engines();
  }

  setModels(models: readonly InstalledModel[]): void {
    const same = JSON.stringify(models) === JSON.stringify(this.#models);
    this.#options.known.setModels(models);
    this.#models = models;
    if (!same) this.#tell('setModels', [models]);
  }

  queueFor(engine: string, settings: Settings): DeviceQueue {
    return this.#health.queueFor(engine, settings);
  }

  async *speak(task: SpeechTask, context: SpeechContext): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const said: Said[] = [];
    for (let attempt = 1; ; attempt++) {
      const engine = await this.#current();
      const device = this.#health.deviceFor(task.settings, said);
      const running = { engine, device };
      this.#running.add(running);
      let heard = false;
      try {
        const stream = engine.speak(task, context);
        try {
          for (;;) {
            const step = await stream.next();
            if (step.done) return { ...step.value, warnings: [...step.value.warnings, ...said] };
            heard = true;
            yield step.value;
          }
        } finally {
          await stream.return(undefined as never);
        }
      } catch (error) {
        const explained = this.#explained(error, engine, device, task.settings);
        const over = this.#closing || context.signal.aborted;
        if (explained === error || heard || attempt > 1 || over) throw explained;
        said.push(say('request_repeated', { device }));
      } finally {
        this.#running.delete(running);
      }
    }
  }

  async verify(task: VerifyTask, onRun: (run: VerifyRun) => void): Promise<VerifyRun[]> {
    return this.#once('verify', [task, onRun], onRun as (event: never) => void);
  }

  tryEngines(): Promise<EngineTrial[]> {
    return this.#once('tryEngines', []);
  }

  selfTest(): Promise<SelfTest[]> {
    return this.#once('selfTest', []);
  }

  async view(): Promise<RuntimeView> {
    const view = (this.#isLeftAlone() ? this.#emptyView() : null) ?? (await this.#ask('view', []));
    this.#loaded = view.models.map(({ id }) => id);
    this.#seen = view;
    // The engine counts its own process alone.
    const process_bytes = view.host.process_bytes + process.memoryUsage.rss();
    return {
      ...view,
      host: { ...view.host, process_bytes },
      incidents: this.#health.incidents(view.incidents),
    };
  }

  whatIf(request: CallRequest<'runtime.what_if'>): Promise<CallResponse<'runtime.what_if'>> {
    return this.#ask('whatIf', [request]);
  }

  whatIfCurve(request: CallRequest<'runtime.what_if_curve'>): Promise<CallResponse<'runtime.what_if_curve'>> {
    return this.#ask('whatIfCurve', [request]);
  }

  async timeline(request: CallRequest<'runtime.timeline'>): Promise<CallResponse<'runtime.timeline'>> {
    await this.#lastWords;
    return this.#timeline.answer(request, await this.#ask('timeline', [this.#timeline.question(request)]));
  }

  trace(): Promise<CallResponse<'runtime.trace'>> {
    return this.#ask('trace', []);
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  async load(model: string): Promise<void> {
    const engine = await this.#current();
    const device = this.#health.deviceFor(this.#settings, []);
    try {
      await engine.call('load', [model]);
    } catch (error) {
      const explained = this.#explained(error, engine, device, this.#settings);
      if (explained === error || this.#closing) throw explained;
      await this.#once('load', [model]);
    }
    this.#wished.add(model);
  }

  async unload(model: string): Promise<number> {
    const freed = await this.#once('unload', [model]);
    this.#wished.delete(model);
    return freed;
  }

  async pin(model: string, pinned: boolean): Promise<void> {
    await this.#ask('pin', [model, pinned]);
    this.#pins.set(model, pinned);
  }

  async configure(settings: Settings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    this.#pins.settingsChanged(before, settings);
    if (deviceSettings.some((key) => before[key] !== settings[key])) {
      this.#health.forget();
      this.#tell('passOver', [[]]);
    }
    if (this.#engine !== null) await this.#ask('configure', [settings]);
  }

  async close(): Promise<void> {
    this.#closing = true;
    const engine = await this.#engine?.catch(() => null);
    await Promise.all([
      engine?.close(closeMs),
      ...[...this.#retiring.keys()].map((old) => old.close(closeMs)),
    ]);
  }

  // The process

  #current(): Promise<RemoteEngine> {
    if (this.#closing) {
      return Promise.reject(
        new StudioError('host_unreachable', 'The studio is closing; nothing new is started.'),
      );
    }
    if (this.#engine !== null) return this.#engine;
    if (this.#isLeftAlone()) return Promise.reject(crashedTooOften());
    const opening = this.#open();
    this.#engine = opening;
    opening.catch(() => this.#leave(opening));
    return opening;
  }

  async #open(): Promise<RemoteEngine> {
    const { startProcess, cacheFolder, testEngines, log, patience } = this.#options;
    const options = {
      cacheFolder,
      testEngines,
      settings: this.#settings,
      models: this.#models,
      passOver: [...this.#health.passOver],
    };
    const wished = this.#loaded.filter((model) => this.#wished.has(model));
    const opened: { engine: RemoteEngine | null } = { engine: null };
    const listeners = {
      changed: () => this.#listener(),
      log,
      crashed: (end: ProcessEnd) => this.#crashed(opened.engine, end),
    };
    const engine = await RemoteEngine.open(startProcess, options, listeners, patience);
    opened.engine = engine;
    this.#live = engine;
    this.#ggmlVersion = engine.ggmlVersion;
    this.#health.devices = engine.devices;
    for (const [model, pinned] of this.#pins.all) void engine.call('pin', [model, pinned]).catch(() => {});
    for (const model of wished) {
      engine.call('load', [model]).catch((error: unknown) => {
        if (this.#closing) return;
        const said = sayOfError('model_not_reloaded', toErrorBody(error), { model });
        log('warning', said.message, said);
      });
    }
    if (this.#closing) await engine.close(closeMs);
    return engine;
  }

  /** It crashed too often, and none runs until some minutes have passed. */
  #isLeftAlone(): boolean {
    return this.#engine === null && this.#health.tooOften(null);
  }

  /** While no engine runs: the devices as they were, with nothing on them, so that what happened can still be told. */
  #emptyView(): RuntimeView | null {
    if (this.#seen === null) return null;
    const nothing = { weights: 0, slots: 0, compute: 0, io: 0, state: 0 };
    const { host, devices, policy } = this.#seen;
    return {
      ...this.#seen,
      devices: devices.map((device) => ({ ...device, held: nothing })),
      host: { ...host, process_bytes: 0, pinned_bytes: 0 },
      models: [],
      policy: { ...policy, resident_models: 0 },
    };
  }

  /** The next one that asks gets another process. */
  #leave(engine: Promise<RemoteEngine>): void {
    if (this.#engine === engine) this.#engine = null;
  }

  /** No further request goes there. What it does besides, on another device, it finishes. */
  #retire(engine: RemoteEngine): void {
    const said = engine.call('timeline', [{ after: 0, since: 0 }]).catch(() => null);
    const silence = new Promise<null>((resolve) => setTimeout(() => resolve(null), closeMs).unref());
    this.#lastWords = Promise.race([said, silence]).then((last) => this.#timeline.end(last));
    this.#engine = null;
    this.#live = null;
    this.#retiring.set(
      engine,
      engine.retire(closeMs).finally(() => this.#retiring.delete(engine)),
    );
    this.#replace();
  }

  /** At once, so that what was loaded is there again when it is needed. */
  #replace(): void {
    this.#current().then(
      () => this.#listener(),
      (error: Error) => {
        // Why one that is left alone does not start has just been told.
        if (this.#closing || this.#isLeftAlone()) return;
        this.#options.log('error', `The engine did not start again: ${error.message}`);
      },
    );
  }

  // What is lost

  #crashed(engine: RemoteEngine | null, end: ProcessEnd): void {
    // What is left of one that was replaced says nothing new.
    if (engine !== this.#live) return;
    const how = endText(end);
    const there = [...this.#running]
      .filter((running) => running.engine === engine)
      .map(({ device }) => device);
    const suspect = there.find((device) => this.#health.isGraphics(device)) ?? null;
    if (suspect === null) this.#health.countCrash(how);
    else this.#health.count(suspect, say('driver_crashed', { device: suspect, how }));
    // One that did not open is tried again by whoever asks next.
    if (engine === null) return;
    this.#timeline.end(null);
    this.#engine = null;
    this.#live = null;
    this.#replace();
  }

  /** What a request shows of its failure; the failure itself where no device or process was lost. */
  #explained(error: unknown, engine: RemoteEngine, device: string, settings: Settings): unknown {
    if (error instanceof EngineGone) {
      if (this.#closing) return cancelled();
      if (!this.#health.isGraphics(device)) return this.#crashOf(error);
      return this.#health.lossOf(device, settings, endText(error.end), error.stack);
    }
    if (!(error instanceof StudioError) || error.code !== 'device_lost') return error;
    // Of several requests that met the same loss, the first tells it.
    if (engine === this.#live && !this.#closing) {
      this.#health.count(device, say('device_replaced', { device }));
      this.#retire(engine);
    }
    return this.#health.lossOf(device, settings, null, error.detail);
  }

  #crashOf(gone: EngineGone): StudioError {
    return this.#health.tooOften(null) ? crashedTooOften(gone) : crashed(gone);
  }

  // Questions

  /** Again on the next process where this one ends before it answers: the question changes nothing twice. */
  async #ask<N extends EngineCall>(name: N, args: Parameters<EngineSide[N]>): Promise<Answer<N>> {
    try {
      return await (await this.#current()).call(name, args);
    } catch (error) {
      if (!(error instanceof EngineGone)) throw error;
      if (this.#closing) throw cancelled();
      return this.#once(name, args);
    }
  }

  async #once<N extends EngineCall>(
    name: N,
    args: Parameters<EngineSide[N]>,
    onEvent?: (event: never) => void,
  ): Promise<Answer<N>> {
    try {
      return await (await this.#current()).call(name, args, onEvent);
    } catch (error) {
      if (!(error instanceof EngineGone)) throw error;
      throw this.#closing ? cancelled() : this.#crashOf(error);
    }
  }

  /** What the next process is opened with anyway. */
  #tell<N extends EngineCall>(name: N, args: Parameters<EngineSide[N]>): void {
    this.#engine?.then((engine) => engine.call(name, args)).catch(() => {});
  }
}

const cancelled = (): StudioError => new StudioError('cancelled', 'Cancelled.');

function crashed(gone: EngineGone): StudioError {
  const how = endText(gone.end);
  return new StudioError(
    'host_crashed',
    `The engine crashed while it was working (${how}) and was started again. Try again; if it happens again, the log says where.`,
    { params: { how }, retryable: true, detail: gone.stack ?? gone.message },
  );
}

function crashedTooOften(gone?: EngineGone): StudioError {
  return new StudioError(
    'host_crashed',
    `The engine crashed ${lossLimit} times within ${lossMinutes} minutes. It is tried again a few minutes from now, or when the studio is started again; the log says where it crashed.`,
    {
      params: { crashes: lossLimit, minutes: lossMinutes },
      ...(gone === undefined ? {} : { detail: gone.stack ?? gone.message }),
    },
  );
}

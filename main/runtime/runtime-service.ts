import type { Addon, CancelToken } from '../../native/addon.ts';
import type { Incident, ModelSnapshot, RuntimeSnapshot } from '../contract/runtime.ts';
import { type Said, say } from '../contract/said.ts';
import type { Settings } from '../contract/settings.ts';
import type { Timeline } from '../contract/timeline.ts';
import { Calibration } from '../memory/calibration.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import { HeldHistory } from '../memory/held-history.ts';
import { DesktopLease } from '../memory/lease.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import { ModelManager } from '../memory/model-manager.ts';
import type { PlanRecord } from '../memory/plan-log.ts';
import { reason } from '../memory/planner/reasons.ts';
import { policyFromSettings, type VramPolicy } from '../memory/policy.ts';
import { Trace, type TraceEvent, type TraceKind } from '../memory/trace.ts';
import { checkContradictions } from './contradictions.ts';
import { DeviceService } from './device-service.ts';
import { LoadedModels, unknownModel } from './loaded-models.ts';
import type { Lease, ModelSource } from './model-source.ts';
import { snapshotOf } from './snapshot.ts';
import { RequestContext } from './stage-context.ts';
import { timelineEvents } from './timeline.ts';
import type { Replayable, StageProgress } from './types.ts';
import { WhatIfQuestions } from './what-if-questions.ts';

/** How often other programs' use of the devices is looked at. */
const leasePollMs = 250;
/** Host memory changes more slowly. */
const ticksPerRamCheck = 20;

const warned: ReadonlySet<TraceKind> = new Set(['retry', 'fallback', 'warning']);
const logged: ReadonlySet<TraceKind> = new Set([
  'plan',
  'give_up',
  'wait',
  'desktop',
  'calibration',
  'out_of_memory',
]);

/** Older ones are forgotten. */
const keptIncidents = 10;

/** After these a device holds more or less than before. */
const sampled: ReadonlySet<TraceKind> = new Set([
  'load',
  'unload',
  'stage_begin',
  'stage_end',
  'give_up',
  'trim',
  'desktop',
]);

/** Over all runtimes: a verification opens one after the other for the same signal. */
const tokens = new WeakMap<AbortSignal, CancelToken>();

const deviceSettings = ['compute.device', 'compute.threads', 'compute.simulate_vram_mb'] as const;

export interface RuntimeOptions {
  addon: Addon;
  settings: Settings;
  /** `<cache>/memory/calibration.json` is kept below this folder; null keeps measurements in memory. */
  cacheFolder: string | null;
  /** What a user should know: retries, other ways, slow memory, measurements that are lost. */
  warn?: (message: string, said?: Said) => void;
  /** Decisions of the memory manager in words, for the log. */
  info?: (message: string) => void;
  /** Compare every handle with its device after each step. Default: where MIZUOTO_CHECK_MEMORY is 1. */
  checkAlways?: boolean;
  /** Devices that `compute.device` auto passes over: they were lost again and again. */
  passOver?: readonly string[];
}

export interface StartRequest {
  /** Unique per request. */
  id: string;
  book: DeviceBook;
  settings: Settings;
  signal: AbortSignal;
  rng?: Replayable | null;
  priority?: number;
  onProgress?: (progress: StageProgress) => void;
}

/** Loaded models, their devices and their memory: what the engine host sees of everything below it. */
export class RuntimeService {
  readonly addon: Addon;
  readonly manager: ModelManager;
  readonly devices: DeviceService;
  readonly models: LoadedModels;
  readonly whatIf: WhatIfQuestions;
  readonly trace = new Trace();
  readonly #listeners = new Set<() => void>();
  readonly #held = new HeldHistory();
  readonly #lease: DesktopLease;
  readonly #leaseTimer: NodeJS.Timeout;
  readonly #incidents: Incident[] = [];
  readonly #signals = new Set<WeakRef<AbortSignal>>();
  #closed: Promise<void> | null = null;
  #ticks = 0;
  #settings: Settings;

  private constructor(options: RuntimeOptions, calibration: Calibration) {
    this.addon = options.addon;
    this.#settings = options.settings;
    this.manager = new ModelManager({
      policy: () => this.policy(),
      calibration,
      driver: `ggml ${options.addon.versions.ggml}`,
      trace: this.trace,
      isPinned: (model) => this.models.isPinned(model),
      hostMemory: () => options.addon.hostMemory(),
      checkAlways: options.checkAlways ?? process.env.MIZUOTO_CHECK_MEMORY === '1',
    });
    this.devices = new DeviceService({
      addon: options.addon,
      manager: this.manager,
      settings: () => this.#settings,
      leave: (book) => this.models.leaveDevice(book),
      reopened: (device) => this.#tell(say('device_reopened', { device }), options.warn),
      passOver: options.passOver ?? [],
    });
    this.models = new LoadedModels({
      manager: this.manager,
      hostMemory: () => options.addon.hostMemory(),
      settings: () => this.#settings,
      devices: this.devices,
      changed: () => this.#changed(),
    });
    const { manager, devices, models } = this;
    this.whatIf = new WhatIfQuestions({ manager, devices, models, policy: () => this.policy() });
    this.trace.on((event) => {
      if (event.text !== undefined && warned.has(event.kind)) options.warn?.(event.text, saidIn(event));
      else if (event.text !== undefined && logged.has(event.kind)) options.info?.(event.text);
      if (sampled.has(event.kind)) this.#look(event.device);
      this.#changed();
    });
    this.#lease = new DesktopLease(this.manager);
    this.#leaseTimer = setInterval(() => this.#watchDevices(), leasePollMs);
    this.#leaseTimer.unref();
  }

  static async open(options: RuntimeOptions): Promise<RuntimeService> {
    const file = options.cacheFolder === null ? null : `${options.cacheFolder}/memory/calibration.json`;
    const calibration = await Calibration.open({ file, warn: (said) => options.warn?.(said.message, said) });
    return new RuntimeService(options, calibration);
  }

  get settings(): Settings {
    return this.#settings;
  }

  /**
   * New settings hold from the next stage on; a device that they no longer mean is left when its models are idle.
   * @throws StudioError `contradictory_settings`: then those before stay in force. `device_not_found`: nothing moves.
   */
  async configure(settings: Settings): Promise<void> {
    checkContradictions(settings, this.addon.hostMemory().totalBytes);
    const before = this.#settings;
    this.#settings = settings;
    this.models.settingsChanged(before);
    await this.models.enforceLimits();
    const moved = deviceSettings.some((key) => settings[key] !== before[key]);
    if (moved && this.models.list().length > 0) await this.models.leaveOthers(await this.deviceFor());
    this.#changed();
  }

  policy(settings: Settings = this.#settings): VramPolicy {
    return policyFromSettings(settings, this.addon.hostMemory().totalBytes);
  }

  /** The device that these settings mean, opened. */
  deviceFor(settings: Settings = this.#settings): Promise<DeviceBook> {
    return this.devices.forSettings(settings);
  }

  /** The same, which stays open until `release`. */
  claimDevice(settings: Settings = this.#settings): ReturnType<DeviceService['claim']> {
    return this.devices.claim(settings);
  }

  /** A model, loaded if need be, that stays loaded until the lease is released. */
  acquire<T>(source: ModelSource<T>, book: DeviceBook, signal?: AbortSignal): Promise<Lease<T>> {
    return this.models.acquire(source, book, signal);
  }

  /** The stages of one request. */
  startRequest(start: StartRequest): RequestContext {
    this.#remember(start.signal);
    return new RequestContext({
      manager: this.manager,
      book: start.book,
      owner: start.id,
      policy: this.policy(start.settings),
      signal: this.cancelToken(start.signal),
      ...(start.rng === undefined ? {} : { rng: start.rng }),
      ...(start.priority === undefined ? {} : { priority: start.priority }),
      onProgress: (progress) => {
        start.onProgress?.(progress);
        this.#changed();
      },
    });
  }

  /** The signal for native code: one token and one listener per signal, however many requests share it. */
  cancelToken(signal: AbortSignal): CancelToken {
    const known = tokens.get(signal);
    if (known !== undefined) return known;
    const token = this.addon.createCancelToken();
    tokens.set(signal, token);
    if (signal.aborted) token.cancel();
    else signal.addEventListener('abort', () => token.cancel(), { once: true });
    return token;
  }

  /** Bytes that the model's device really got back. */
  async unload(model: string): Promise<number> {
    return this.models.unload(model);
  }

  async pin(model: string, pinned: boolean): Promise<void> {
    this.models.pin(model, pinned);
  }

  /** Below the RAM reserve: first unused host copies, then idle models, least recently used first. */
  relieveRam(): Promise<number> {
    return this.models.relieveRam();
  }

  /** Every idle model moves off this device, before something else owns it. */
  async releaseDevice(book: DeviceBook): Promise<number> {
    const freed = await this.manager.releaseDevice(book.device);
    this.#changed();
    return freed;
  }

  /** A request failed for lack of memory: models that nobody uses are unloaded, on every device. */
  releaseAfterOom(): Promise<number> {
    return this.models.unloadIdle({ deviceMemory: true });
  }

  /** Everything of a snapshot that is not the host's own. */
  view(): Omit<RuntimeSnapshot, 'version' | 'at' | 'jobs'> {
    return snapshotOf({
      addon: this.addon,
      manager: this.manager,
      devices: this.devices,
      models: this.models,
      settings: this.#settings,
      policy: this.policy(),
      incidents: this.#incidents,
    });
  }

  model(id: string): ModelSnapshot {
    const found = this.view().models.find((model) => model.id === id);
    if (found === undefined) throw unknownModel(id);
    return found;
  }

  /** Called whenever `view()` would differ; the listener decides how often it looks. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  handlesOf(model: string): readonly ModelHandle[] {
    return this.manager.handles.filter((handle) => handle.model === model);
  }

  /** Events with a larger id than `after`, oldest first. */
  events(after = 0): TraceEvent[] {
    return this.trace.events(after);
  }

  /** Events and samples that are new since an earlier answer. */
  timeline({ after, since }: { after: number; since: number }): Timeline {
    const samples = this.#held.samples(since);
    const devices = this.devices.opened.map(({ id, device }) => ({
      id,
      total_bytes: device.memory().totalBytes,
    }));
    return { at: Date.now(), events: timelineEvents(this.trace.events(after)), samples, devices };
  }

  /** Everything that a report of a problem needs: events, and the latest decisions with what they were made from. */
  exportTrace(): { version: 1; events: TraceEvent[]; plans: PlanRecord[] } {
    return { version: 1, events: this.trace.events(), plans: this.manager.planLog.records() };
  }

  /**
   * Cancels what runs, unloads everything and closes the devices; nothing new begins. A request that does not end within
   * `limitMs` (nobody asks for its next value, say) loses its device.
   */
  close(limitMs = 5000): Promise<void> {
    this.#closed ??= this.#close(limitMs);
    return this.#closed;
  }

  async #close(limitMs: number): Promise<void> {
    clearInterval(this.#leaseTimer);
    this.models.refuse();
    if (this.models.list().some(({ state }) => state === 'in_use' || state === 'loading')) this.#cancelAll();
    await this.models.close(limitMs);
    await this.manager.calibration.flush();
    await this.devices.closeAll();
  }

  #cancelAll(): void {
    for (const reference of this.#signals) {
      const signal = reference.deref();
      if (signal === undefined) continue;
      this.cancelToken(signal).cancel();
      // Another runtime may go on with the same signal: it gets a token of its own.
      if (!signal.aborted) tokens.delete(signal);
    }
  }

  /** Of requests that were started here, for as long as whoever started them keeps theirs. */
  #remember(signal: AbortSignal): void {
    for (const known of this.#signals) {
      const alive = known.deref();
      if (alive === signal) return;
      if (alive === undefined) this.#signals.delete(known);
    }
    this.#signals.add(new WeakRef(signal));
  }

  /** This device stopped responding; true where the next request gets it afresh. */
  deviceLost(book: DeviceBook): boolean {
    return this.devices.markLost(book);
  }

  #tell(said: Said, warn: RuntimeOptions['warn']): void {
    this.#incidents.unshift({ at: Date.now(), said });
    this.#incidents.splice(keptIncidents);
    warn?.(said.message, said);
    this.#changed();
  }

  #watchDevices(): void {
    this.#ticks += 1;
    const changed = this.devices.opened.map((book) => this.#held.look(book, this.manager.handles));
    if (changed.includes(true)) this.#changed();
    const relieved = this.#ticks % ticksPerRamCheck === 0 ? this.models.relieveRam() : Promise.resolve(0);
    const watched = Promise.all([this.#lease.tick(Date.now()), relieved]);
    watched.catch((error: unknown) => {
      const why = reason('unexpected', { reason: error instanceof Error ? error.message : String(error) });
      this.trace.add({ kind: 'warning', device: '', subject: 'lease', bytes: 0, why });
    });
  }

  #look(device: string): void {
    const book = this.devices.opened.find(({ id }) => id === device);
    if (book !== undefined) this.#held.look(book, this.manager.handles);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** What an event says, for every language. */
function saidIn({ code, params, text }: TraceEvent): Said | undefined {
  return code === undefined || params === undefined ? undefined : { code, params, message: text ?? '' };
}

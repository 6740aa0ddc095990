import type { CancelToken, Device } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import type { Calibration } from './calibration.ts';
import { type ActiveStage, DeviceBook } from './device-book.ts';
import { carryOut, planLine } from './executor.ts';
import { PinBudget } from './host-memory.ts';
import { StageMeasurement } from './measure.ts';
import type { ModelHandle } from './model-handle.ts';
import { planLoad } from './planner/plan.ts';
import { mib, type Reason, reason } from './planner/reasons.ts';
import type { LoadRequest, Plan, PlannerState } from './planner/types.ts';
import { plannerState } from './planner-state.ts';
import type { VramPolicy } from './policy.ts';
import { Trace } from './trace.ts';
import { RoomWait } from './waiting.ts';

export interface ManagerOptions {
  policy: () => VramPolicy;
  calibration: Calibration;
  /** Part of the calibration key: measurements of another driver say nothing. */
  driver?: string;
  trace?: Trace;
  isPinned?: (model: string) => boolean;
  hostMemory?: () => { totalBytes: number; availableBytes: number };
  /** Compare every handle with its device after each load: for tests and for finding faults. */
  checkAlways?: boolean;
}

export interface LoadOptions {
  /** The stage, in words. */
  name: string;
  /** The request that it belongs to. Stages of one request may nest and never wait for each other. */
  owner?: string;
  passes?: number;
  /** Policy of this request; default: the manager's. */
  policy?: VramPolicy;
  /** Larger goes first among requests that wait. */
  priority?: number;
  signal?: CancelToken;
  onProgress?: (done: number, total: number) => void;
  onWait?: (why: Reason) => void;
}

/** Components in their places, for as long as a stage needs them. */
export interface Placement {
  /** One per device that something had to be planned for; none on the processor. */
  readonly plans: readonly Plan[];
  /** The stage is over: its components may give up memory again. `failed`: its measurements mean nothing. */
  release(failed?: boolean): void;
}

/** Plans are made anew, with fresh numbers, when a device refuses what its driver said was free. */
const maxReplans = 2;

/**
 * Places components for stages, within the budget, and keeps the books: what is where, who uses it, what was measured.
 * Decisions are the planner's.
 */
export class ModelManager {
  readonly trace: Trace;
  readonly calibration: Calibration;
  readonly pins = new PinBudget();
  readonly #options: ManagerOptions;
  readonly #books = new Map<Device, DeviceBook>();
  readonly #handles = new Map<string, ModelHandle>();
  #clock = 0;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.calibration = options.calibration;
    this.trace = options.trace ?? new Trace();
  }

  get policy(): VramPolicy {
    return this.#options.policy();
  }

  // Devices and handles

  addDevice(device: Device, options: { unified?: boolean } = {}): DeviceBook {
    const book = new DeviceBook(device, options);
    const rate = this.calibration.copyRate(this.deviceKey(book));
    if (rate !== null) book.rememberCopyRate(rate);
    this.#books.set(device, book);
    return book;
  }

  removeDevice(device: Device): void {
    this.#books.delete(device);
  }

  book(device: Device): DeviceBook {
    const book = this.#books.get(device);
    if (book === undefined) throw new Error(`The device ${device.name} is not under the memory manager.`);
    return book;
  }

  get books(): DeviceBook[] {
    return [...this.#books.values()];
  }

  register(handle: ModelHandle): void {
    if (this.#handles.has(handle.id)) throw new Error(`A component "${handle.id}" is loaded already.`);
    this.#handles.set(handle.id, handle);
    this.touch([handle]);
  }

  /** Everything of the component is freed, nothing is copied back. Resolves when the device has its memory again. */
  async unregister(handle: ModelHandle): Promise<void> {
    if (handle.inUse) throw new Error(`"${handle.id}" is in use and cannot be unloaded.`);
    this.#handles.delete(handle.id);
    this.pins.release(handle);
    await handle.dispose();
  }

  get handles(): ModelHandle[] {
    return [...this.#handles.values()];
  }

  /** Count as used now: the least recently used gives up first. */
  touch(handles: readonly ModelHandle[]): void {
    for (const handle of handles) handle.lastUsed = ++this.#clock;
  }

  // Planning

  state(book: DeviceBook, policy: VramPolicy = this.policy): PlannerState {
    return plannerState(book, policy, {
      handles: this.#handles.values(),
      isPinned: this.#options.isPinned ?? (() => false),
      unitTimes: (handle) =>
        this.calibration.unitTimes(this.deviceKey(book), handle.calibrationKey, handle.unitBytes),
    });
  }

  /** What `load` would do, without doing it. */
  plan(handles: readonly ModelHandle[], memory: number, options: LoadOptions): Plan[] {
    return this.#devicesOf(handles).map(({ book, own }) =>
      planLoad(this.state(book, options.policy), this.#request(book, own, memory, options)),
    );
  }

  deviceKey(book: DeviceBook): string {
    const { backend, description } = book.device.info();
    return `${backend}/${book.device.simulated ? 'simulated' : description}/${this.#options.driver ?? ''}`;
  }

  // Loading

  /**
   * Place `handles` whole or partly and reserve `memory` bytes of working memory beside them, until `release`. Idle
   * components give up what is missing. On the processor nothing moves and nothing is counted.
   */
  async load(handles: readonly ModelHandle[], memory: number, options: LoadOptions): Promise<Placement> {
    this.touch(handles);
    const placed: { book: DeviceBook; stage: ActiveStage; plan: Plan; measurement: StageMeasurement }[] = [];
    try {
      for (const { book, own } of this.#devicesOf(handles)) {
        placed.push(await this.#loadOn(book, own, memory, options));
      }
    } catch (error) {
      for (const { book, stage } of placed) book.end(stage);
      throw error;
    }
    const onHost = handles.filter((handle) => handle.onHost);
    for (const handle of onHost) handle.holders += 1;
    let released = false;
    return {
      plans: placed.map(({ plan }) => plan),
      release: (failed = false) => {
        if (released) return;
        released = true;
        for (const handle of onHost) handle.holders -= 1;
        for (const { book, stage, plan, measurement } of placed) {
          const bytes = measurement.end(this.calibration, this.deviceKey(book), stage.disturbed);
          if (!failed && bytes !== null) this.#noteWorking(book, stage, memory, bytes, options);
          book.end(stage);
          this.trace.add({ kind: 'stage_end', device: book.id, subject: plan.name, bytes: bytes ?? 0 });
        }
        if (this.#options.checkAlways) this.verify();
      },
    };
  }

  async #loadOn(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): Promise<{ book: DeviceBook; stage: ActiveStage; plan: Plan; measurement: StageMeasurement }> {
    const owner = options.owner ?? options.name;
    const { name, priority = 0, signal } = options;
    const wait = new RoomWait({
      book,
      name,
      owner,
      priority,
      signal,
      onWait: (why) => this.#waits(book, why, options),
    });
    for (;;) {
      throwIfCancelled(signal);
      const started = await book.lock.run(async () => {
        if (wait.shouldWait(this.#planOn(book, handles, memory, options).overBudgetBytes)) return null;
        const plan = await this.#place(book, handles, memory, options);
        const { workingBytes } = plan.budget;
        const stage: ActiveStage = {
          name,
          owner,
          handles,
          workingBytes,
          slots: plan.slots,
          disturbed: false,
        };
        book.begin(stage);
        const measurement = StageMeasurement.begin(book, handles, this.#toProfile(book, handles));
        this.trace.add({
          kind: 'stage_begin',
          device: book.id,
          subject: name,
          bytes: workingBytes,
          text: planLine(plan),
        });
        return { book, stage, plan, measurement };
      });
      if (started !== null) return started;
      const over = await wait.next();
      if (over !== null) this.#waits(book, over, options);
    }
  }

  #waits(book: DeviceBook, why: Reason, options: LoadOptions): void {
    this.trace.add({ kind: 'wait', device: book.id, subject: options.name, bytes: 0, text: why.text });
    options.onWait?.(why);
  }

  async #place(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): Promise<Plan> {
    if (this.#wantsMeasuring(book, handles, memory, options)) await book.trim();
    for (let attempt = 0; ; attempt++) {
      const plan = this.#planOn(book, handles, memory, options);
      for (const { text } of plan.reasons) {
        this.trace.add({ kind: 'plan', device: book.id, subject: options.name, bytes: plan.peakBytes, text });
      }
      try {
        await carryOut(plan, {
          book,
          handle: (id) => this.#handles.get(id)!,
          trace: this.trace,
          pins: this.pins,
          pinBudget: () => this.#pinBudget(options.policy ?? this.policy),
          signal: options.signal,
          onProgress: options.onProgress,
        });
        if (this.#options.checkAlways) this.verify();
        return plan;
      } catch (error) {
        if (!isOutOfDeviceMemory(error) || attempt >= maxReplans) throw error;
        const text = error instanceof Error ? error.message : String(error);
        this.trace.add({ kind: 'out_of_memory', device: book.id, subject: options.name, bytes: 0, text });
        await book.trim();
      }
    }
  }

  /**
   * After a stage ran out of memory, and released what it held: all idle components leave its devices, caches and
   * copies are dropped, and each of its components may have at most half of what it had, until it leaves.
   */
  async afterOom(handles: readonly ModelHandle[], name: string): Promise<void> {
    for (const { book, own } of this.#devicesOf(handles)) {
      await book.lock.run(async () => {
        for (const other of this.#handles.values()) {
          if (other.device !== book.device || other.inUse || own.includes(other) || other.loadedBytes === 0)
            continue;
          const bytes = await other.leave();
          const why = reason('gives_up_oom', {
            component: other.id,
            device: book.id,
            name,
            bytes: mib(bytes),
          });
          this.trace.add({
            kind: 'give_up',
            device: book.id,
            subject: other.id,
            bytes: -bytes,
            text: why.text,
          });
        }
        await book.trim();
        for (const handle of own) {
          const had = handle.loadedBytes > 0 ? handle.loadedBytes : handle.sizeBytes;
          handle.capBytes = Math.floor(Math.min(handle.capBytes ?? had, had) / 2);
        }
      });
    }
    if (this.#options.checkAlways) this.verify();
  }

  /** Every idle component leaves the device (before training on it, say). Resolves with the bytes freed. */
  async releaseDevice(device: Device): Promise<number> {
    const book = this.book(device);
    return book.lock.run(async () => {
      let freed = 0;
      for (const handle of this.#handles.values()) {
        if (handle.device !== device || handle.inUse || handle.loadedBytes === 0 || handle.onHost) continue;
        const bytes = await handle.leave();
        this.trace.add({ kind: 'give_up', device: book.id, subject: handle.id, bytes: -bytes });
        freed += bytes;
      }
      return freed + (await book.trim());
    });
  }

  /** Throws where a handle and its device disagree. */
  verify(): void {
    for (const handle of this.#handles.values()) handle.verify();
  }

  // Inside

  #planOn(book: DeviceBook, handles: readonly ModelHandle[], memory: number, options: LoadOptions): Plan {
    return planLoad(this.state(book, options.policy), this.#request(book, handles, memory, options));
  }

  #request(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): LoadRequest {
    const key = mainComponent(handles).calibrationKey;
    return {
      name: options.name,
      components: handles.map(({ id }) => id),
      workingBytes: this.calibration.reserve(this.deviceKey(book), key, options.name, Math.ceil(memory)),
      passes: options.passes,
    };
  }

  /** Handles by device, without those on the processor; in the order in which devices were added, so that no two loads wait for each other. */
  #devicesOf(handles: readonly ModelHandle[]): { book: DeviceBook; own: ModelHandle[] }[] {
    const result: { book: DeviceBook; own: ModelHandle[] }[] = [];
    for (const book of this.#books.values()) {
      if (book.device.isHost) continue;
      const own = [...new Set(handles)].filter((handle) => handle.device === book.device);
      if (own.length > 0) result.push({ book, own });
    }
    return result;
  }

  #wantsMeasuring(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): boolean {
    if (book.active.size > 0) return false;
    const key = mainComponent(handles).calibrationKey;
    return this.calibration.wantsMeasuring(this.deviceKey(book), key, options.name, memory);
  }

  #toProfile(book: DeviceBook, handles: readonly ModelHandle[]): ModelHandle[] {
    if (this.policy.residency !== 'cost') return [];
    const key = this.deviceKey(book);
    return handles.filter(
      (handle) =>
        handle.unitCount > 0 &&
        this.calibration.unitTimes(key, handle.calibrationKey, handle.unitBytes) === null,
    );
  }

  #noteWorking(
    book: DeviceBook,
    stage: ActiveStage,
    estimate: number,
    bytes: number,
    options: LoadOptions,
  ): void {
    const key = mainComponent(stage.handles).calibrationKey;
    if (!this.calibration.measured(this.deviceKey(book), key, options.name, estimate, bytes)) return;
    this.trace.add({
      kind: 'calibration',
      device: book.id,
      subject: key,
      bytes,
      text: `${options.name} took ${mib(bytes)} MiB of working memory where ${mib(estimate)} were estimated; the next reservation grows.`,
    });
  }

  #pinBudget(policy: VramPolicy): number {
    const memory = this.#options.hostMemory?.();
    if (memory === undefined) return policy.maxPinnedBytes;
    const spare = Math.max(0, memory.availableBytes - policy.ramReserveBytes);
    return Math.min(policy.maxPinnedBytes, this.pins.bytes + spare);
  }
}

/** The component that gives a stage its name in the measurements: the largest. */
function mainComponent(handles: readonly ModelHandle[]): ModelHandle {
  return handles.reduce((largest, handle) => (handle.sizeBytes > largest.sizeBytes ? handle : largest));
}

export function isOutOfDeviceMemory(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'OutOfDeviceMemory';
}

function throwIfCancelled(signal: CancelToken | undefined): void {
  if (signal?.cancelled) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
}

import type { Device } from '../../native/addon.ts';
import type { Calibration } from './calibration.ts';
import { DeviceBook } from './device-book.ts';
import { Inventory } from './inventory.ts';
import { StageLearning } from './learning.ts';
import { leaveDevice } from './leaving.ts';
import type { ModelHandle } from './model-handle.ts';
import { halveCap } from './out-of-memory.ts';
import { PinBudget } from './pin-budget.ts';
import { type PlacedStage, StagePlacer } from './place-stage.ts';
import { PlanLog } from './plan-log.ts';
import type { RequestPlan } from './planner/request.ts';
import type { LoadRequest, PlannerState } from './planner/types.ts';
import { capsAfterOom, type VramPolicy } from './policy.ts';
import { StageRequests } from './stage-requests.ts';
import type { LoadOptions, Placement, StageFailure, StageToPlan } from './stages.ts';
import { Trace } from './trace.ts';

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

/**
 * Places components for stages, within the budget, and keeps the books: what is where (`Inventory`), what stages want
 * (`StageRequests`), what was measured (`StageLearning`). Decisions are the planner's; `StagePlacer` carries them out.
 */
export class ModelManager {
  readonly trace: Trace;
  readonly calibration: Calibration;
  readonly pins = new PinBudget();
  readonly planLog = new PlanLog();
  readonly #options: ManagerOptions;
  readonly #inventory = new Inventory();
  readonly #requests: StageRequests;
  readonly #placer: StagePlacer;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.calibration = options.calibration;
    this.trace = options.trace ?? new Trace();
    const { trace, pins, planLog } = this;
    const inventory = this.#inventory;
    const learning = new StageLearning(this.calibration, trace);
    this.#requests = new StageRequests({
      handles: () => inventory.handles,
      isPinned: options.isPinned ?? (() => false),
      learning,
    });
    this.#placer = new StagePlacer({
      inventory,
      requests: this.#requests,
      learning,
      trace,
      planLog,
      pins,
      pinBudget: (book, policy) => this.#pinBudget(book, policy),
      policy: options.policy,
      checkAlways: options.checkAlways ?? false,
    });
  }

  get policy(): VramPolicy {
    return this.#options.policy();
  }

  // Devices and handles

  addDevice(device: Device, options: { unified?: boolean } = {}): DeviceBook {
    const book = new DeviceBook(device, { ...options, driver: this.#options.driver });
    const rate = this.calibration.copyRate(book.key);
    if (rate !== null) book.rememberCopyRate(rate);
    this.#inventory.addDevice(book);
    return book;
  }

  removeDevice(device: Device): void {
    this.#inventory.removeDevice(device);
  }

  book(device: Device): DeviceBook {
    return this.#inventory.book(device);
  }

  get books(): DeviceBook[] {
    return this.#inventory.books;
  }

  register(handle: ModelHandle): void {
    this.#inventory.register(handle);
  }

  /** Everything of the component is freed, nothing is copied back. Resolves when the device has its memory again. */
  async unregister(handle: ModelHandle): Promise<void> {
    await this.#inventory.unregister(handle, () => {
      this.#requests.forget(handle.model);
      this.pins.release(handle);
    });
  }

  handle(id: string): ModelHandle {
    return this.#inventory.handle(id);
  }

  get handles(): ModelHandle[] {
    return this.#inventory.handles;
  }

  /** Count as used now: the least recently used gives up first. */
  touch(handles: readonly ModelHandle[]): void {
    this.#inventory.touch(handles);
  }

  /** Throws where a handle and its device disagree, or where a device holds weights that no handle knows of. */
  verify(): void {
    this.#inventory.verify();
  }

  // Planning

  state(book: DeviceBook, policy: VramPolicy = this.policy): PlannerState {
    return this.#requests.state(book, policy);
  }

  /** Plans all stages of a request at once, each on what the one before leaves. Nothing moves. */
  planStages(
    book: DeviceBook,
    stages: readonly StageToPlan[],
    policy: VramPolicy = this.policy,
  ): RequestPlan {
    return this.#requests.planAll(book, stages, policy);
  }

  /** The stages that a model ran last, with what is known of them by now: what a question "what if" is asked about. */
  lastStages(model: string): LoadRequest[] {
    return this.#requests.last(model);
  }

  // Loading

  /**
   * Place `handles` whole or partly and reserve `memory` bytes of working memory beside them, until `release`. Idle
   * components give up what is missing. On the processor nothing moves and nothing is counted.
   */
  async load(handles: readonly ModelHandle[], memory: number, options: LoadOptions): Promise<Placement> {
    this.touch(handles);
    const placed: PlacedStage[] = [];
    try {
      for (const { book, own } of this.#inventory.byDevice(handles)) {
        placed.push(await this.#placer.place(book, own, memory, options));
      }
    } catch (error) {
      for (const one of placed) this.#placer.end(one, memory, { error: null });
      throw error;
    }
    const onHost = handles.filter((handle) => handle.onHost);
    for (const handle of onHost) handle.holders += 1;
    let released = false;
    const release = (failure: StageFailure | null = null): void => {
      if (released) return;
      released = true;
      for (const handle of onHost) handle.holders -= 1;
      for (const one of placed) this.#placer.end(one, memory, failure);
      if (this.#options.checkAlways) this.verify();
    };
    const settle = async (): Promise<void> => {
      for (const { stage } of placed) await stage.handles[0]?.settle();
    };
    return { plans: placed.map(({ plan }) => plan), settle, release };
  }

  /**
   * After a stage ran out of memory, and released what it held: all idle components leave its devices, caches and
   * copies are dropped, and each of its components may have at most half of what it had, until it leaves (unless the
   * policy wants it whole or not at all).
   */
  async afterOom(
    handles: readonly ModelHandle[],
    name: string,
    policy: VramPolicy = this.#options.policy(),
  ): Promise<void> {
    for (const { book, own } of this.#inventory.byDevice(handles)) {
      await book.lock.run(async () => {
        await leaveDevice(book, this.handles, this.trace, { except: own, forWhom: name });
        if (capsAfterOom(policy, book.unified)) for (const handle of own) halveCap(handle);
      });
    }
    if (this.#options.checkAlways) this.verify();
  }

  /** Give up host copies that the checkpoint can give again, of what is on the device. Resolves with the bytes freed. */
  async dropHost(handle: ModelHandle): Promise<number> {
    return handle.onHost ? 0 : this.pins.dropCopies(handle);
  }

  /** The policy may allow less pinned memory than before. */
  limitPins(): void {
    this.pins.limit(this.#options.policy().maxPinnedBytes);
  }

  /** Every idle component leaves the device (before training on it, say). Resolves with the bytes freed. */
  releaseDevice(device: Device): Promise<number> {
    const book = this.book(device);
    return book.lock.run(() => leaveDevice(book, this.handles, this.trace));
  }

  /** 0: pinned memory is of no use to this device. */
  #pinBudget(book: DeviceBook, policy: VramPolicy): number {
    if (this.calibration.pinningHelps(book.key) === false) return 0;
    const memory = this.#options.hostMemory?.();
    if (memory === undefined) return policy.maxPinnedBytes;
    const spare = Math.max(0, memory.availableBytes - policy.ramReserveBytes);
    return Math.min(policy.maxPinnedBytes, this.pins.bytes + spare);
  }
}

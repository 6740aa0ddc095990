import type { CancelToken, Device } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import type { Calibration } from './calibration.ts';
import { checkWeights } from './check-weights.ts';
import { type ActiveStage, DeviceBook } from './device-book.ts';
import { carryOut, planLine } from './executor.ts';
import { PinBudget } from './host-memory.ts';
import { mainComponent, StageLearning } from './learning.ts';
import { halveCap, leaveDevice } from './leaving.ts';
import type { StageMeasurement } from './measure.ts';
import type { ModelHandle } from './model-handle.ts';
import { PlanLog } from './plan-log.ts';
import { planLoad } from './planner/plan.ts';
import type { Reason } from './planner/reasons.ts';
import { planRequest, type RequestPlan, type StageRequest } from './planner/request.ts';
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

/** A stage of a request, known in advance. */
export interface StageToPlan {
  name: string;
  handles: readonly ModelHandle[];
  /** Bytes of working memory. */
  memory: number;
  passes?: number;
  /** Where the stage could be split: its length, and the working memory of another one. */
  length?: number;
  memoryAt?: (length: number) => number;
}

/** Components in their places, for as long as a stage needs them. */
export interface Placement {
  /** One per device that something had to be planned for; none on the processor. */
  readonly plans: readonly Plan[];
  /** Resolves when the devices have given back what the stage disposed of: call it before `release`, to measure right. */
  settle(): Promise<void>;
  /** The stage is over: its components may give up memory again. `failed`: its measurements mean nothing. */
  release(failed?: boolean): void;
}

/** A stage in its place on one device. */
interface Placed {
  book: DeviceBook;
  stage: ActiveStage;
  plan: Plan;
  measurement: StageMeasurement;
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
  readonly planLog = new PlanLog();
  readonly #options: ManagerOptions;
  readonly #learning: StageLearning;
  readonly #books = new Map<Device, DeviceBook>();
  readonly #handles = new Map<string, ModelHandle>();
  readonly #lastStages = new Map<string, Map<string, () => LoadRequest>>();
  /** Unregistered, and not yet gone from their devices. */
  readonly #freed = new Set<ModelHandle>();
  #clock = 0;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.calibration = options.calibration;
    this.trace = options.trace ?? new Trace();
    this.#learning = new StageLearning(this.calibration, this.trace);
  }

  get policy(): VramPolicy {
    return this.#options.policy();
  }

  // Devices and handles

  addDevice(device: Device, options: { unified?: boolean } = {}): DeviceBook {
    const book = new DeviceBook(device, { ...options, driver: this.#options.driver });
    const rate = this.calibration.copyRate(book.key);
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
    const remove = async (): Promise<void> => {
      if (handle.inUse) throw new Error(`"${handle.id}" is in use and cannot be unloaded.`);
      this.#handles.delete(handle.id);
      this.#lastStages.delete(handle.model);
      this.pins.release(handle);
      this.#freed.add(handle);
      try {
        await handle.dispose();
      } finally {
        this.#freed.delete(handle);
      }
    };
    const book = this.#books.get(handle.device);
    // A plan that is being carried out may count on what this component gives up.
    await (book === undefined ? remove() : book.lock.run(remove));
  }

  handle(id: string): ModelHandle {
    const handle = this.#handles.get(id);
    if (handle === undefined) throw new Error(`No component "${id}" is loaded.`);
    return handle;
  }

  get handles(): ModelHandle[] {
    return [...this.#handles.values()];
  }

  /** Count as used now: the least recently used gives up first. */
  touch(handles: readonly ModelHandle[]): void {
    for (const handle of handles) handle.lastUsed = ++this.#clock;
  }

  /** Throws where a handle and its device disagree, or where a device holds weights that no handle knows of. */
  verify(): void {
    for (const handle of this.#handles.values()) handle.verify();
    for (const book of this.#books.values()) {
      if (!book.device.isHost) checkWeights(book, this.#handles.values(), this.#freed);
    }
  }

  // Planning

  state(book: DeviceBook, policy: VramPolicy = this.policy): PlannerState {
    return plannerState(book, policy, {
      handles: this.#handles.values(),
      isPinned: this.#options.isPinned ?? (() => false),
      unitTimes: (handle) => this.#learning.unitTimes(book, handle),
    });
  }

  /** Plans all stages of a request at once, each on what the one before leaves. Nothing moves. */
  planStages(
    book: DeviceBook,
    stages: readonly StageToPlan[],
    policy: VramPolicy = this.policy,
  ): RequestPlan {
    const requests: StageRequest[] = [];
    for (const stage of stages) {
      const { memory, memoryAt, length } = stage;
      const own = stage.handles.filter((handle) => handle.device === book.device);
      if (own.length === 0) continue;
      const request = this.#request(book, own, memory, stage);
      const factor = memory > 0 ? request.workingBytes / memory : 1;
      const splits = length !== undefined && memoryAt !== undefined;
      requests.push(
        splits ? { ...request, length, workingAt: (shorter) => memoryAt(shorter) * factor } : request,
      );
    }
    return planRequest(this.state(book, policy), requests);
  }

  /** The stages that a model ran last, with what is known of them by now: what a question "what if" is asked about. */
  lastStages(model: string): LoadRequest[] {
    return [...(this.#lastStages.get(model)?.values() ?? [])].map((request) => request());
  }

  // Loading

  /**
   * Place `handles` whole or partly and reserve `memory` bytes of working memory beside them, until `release`. Idle
   * components give up what is missing. On the processor nothing moves and nothing is counted.
   */
  async load(handles: readonly ModelHandle[], memory: number, options: LoadOptions): Promise<Placement> {
    this.touch(handles);
    const placed: Placed[] = [];
    try {
      for (const { book, own } of this.#devicesOf(handles)) {
        placed.push(await this.#loadOn(book, own, memory, options));
      }
    } catch (error) {
      for (const one of placed) this.#end(one, memory, true);
      throw error;
    }
    const onHost = handles.filter((handle) => handle.onHost);
    for (const handle of onHost) handle.holders += 1;
    let released = false;
    const release = (failed = false): void => {
      if (released) return;
      released = true;
      for (const handle of onHost) handle.holders -= 1;
      for (const one of placed) this.#end(one, memory, failed);
      if (this.#options.checkAlways) this.verify();
    };
    const settle = async (): Promise<void> => {
      for (const { stage } of placed) await stage.handles[0]?.settle();
    };
    return { plans: placed.map(({ plan }) => plan), settle, release };
  }

  /**
   * After a stage ran out of memory, and released what it held: all idle components leave its devices, caches and
   * copies are dropped, and each of its components may have at most half of what it had, until it leaves.
   */
  async afterOom(handles: readonly ModelHandle[], name: string): Promise<void> {
    for (const { book, own } of this.#devicesOf(handles)) {
      await book.lock.run(async () => {
        await leaveDevice(book, this.handles, this.trace, { except: own, forWhom: name });
        for (const handle of own) halveCap(handle);
      });
    }
    if (this.#options.checkAlways) this.verify();
  }

  /** Every idle component leaves the device (before training on it, say). Resolves with the bytes freed. */
  releaseDevice(device: Device): Promise<number> {
    const book = this.book(device);
    return book.lock.run(() => leaveDevice(book, this.handles, this.trace));
  }

  // Inside

  async #loadOn(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): Promise<Placed> {
    const { name, owner = name, priority = 0, signal } = options;
    const tell = (why: Reason): void => {
      this.trace.add({ kind: 'wait', device: book.id, subject: name, bytes: 0, why });
      options.onWait?.(why);
    };
    const wait = new RoomWait({ book, name, owner, priority, signal, onWait: tell });
    for (;;) {
      throwIfCancelled(signal);
      const placed = await book.lock.run(async () => {
        await handles[0]?.settle();
        const request = this.#request(book, handles, memory, options);
        const short = () => planLoad(this.state(book, options.policy), request).overBudgetBytes;
        if (wait.shouldWait(short)) return null;
        if (this.#learning.wantsMeasuring(book, handles, name, memory)) await book.trim();
        const plan = await this.#place(book, request, options);
        const { passes } = options;
        this.#rememberStage(handles, name, () => this.#request(book, handles, memory, { name, passes }));
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
        const text = planLine(plan);
        this.trace.add({ kind: 'stage_begin', device: book.id, subject: name, bytes: workingBytes, text });
        const residency = (options.policy ?? this.policy).residency;
        return { book, stage, plan, measurement: this.#learning.begin(book, handles, residency) };
      });
      if (placed !== null) return placed;
      const over = await wait.next();
      if (over !== null) tell(over);
    }
  }

  async #place(book: DeviceBook, request: LoadRequest, options: LoadOptions): Promise<Plan> {
    const policy = options.policy ?? this.policy;
    for (let attempt = 0; ; attempt++) {
      const state = this.state(book, policy);
      const plan = planLoad(state, request);
      this.planLog.add({ state, request });
      if (changesAnything(plan)) this.#tracePlan(book, plan);
      try {
        await carryOut(plan, {
          book,
          handle: (id) => this.handle(id),
          trace: this.trace,
          pins: this.pins,
          pinBudget: () => this.#pinBudget(book, policy),
          dropHostCopies: policy.hostCopies === 'off',
          signal: options.signal,
          onProgress: options.onProgress,
        });
        if (this.#options.checkAlways) this.verify();
        return plan;
      } catch (error) {
        if (!isOutOfDeviceMemory(error) || attempt >= maxReplans) throw error;
        const text = error instanceof Error ? error.message : String(error);
        this.trace.add({ kind: 'out_of_memory', device: book.id, subject: request.name, bytes: 0, text });
        await book.trim();
      }
    }
  }

  /** Giving up is told when it happens. */
  #tracePlan(book: DeviceBook, plan: Plan): void {
    const told = new Set(plan.giveUps.map((step) => step.reason));
    for (const why of plan.reasons) {
      if (told.has(why)) continue;
      this.trace.add({ kind: 'plan', device: book.id, subject: plan.name, bytes: plan.peakBytes, why });
    }
  }

  #end({ book, stage, plan, measurement }: Placed, estimate: number, failed: boolean): void {
    const { name, handles, disturbed } = stage;
    const pinned = this.#sourceOf(plan);
    const bytes = this.#learning.end(measurement, { name, handles, disturbed, failed, estimate, pinned });
    const ms = measurement.elapsedMs;
    if (!failed) book.notePrediction(plan.prediction, ms);
    book.end(stage);
    this.trace.add({ kind: 'stage_end', device: book.id, subject: name, bytes: bytes ?? 0, ms });
  }

  #request(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    stage: { name: string; passes?: number },
  ): LoadRequest {
    return {
      name: stage.name,
      components: [...new Set(handles.map(({ id }) => id))],
      workingBytes: this.#learning.reserve(book, handles, stage.name, memory),
      passes: stage.passes,
    };
  }

  /**
   * Handles by device, without those on the processor; always in the order in which devices were added, so that no two
   * loads wait for each other.
   */
  #devicesOf(handles: readonly ModelHandle[]): { book: DeviceBook; own: ModelHandle[] }[] {
    const result: { book: DeviceBook; own: ModelHandle[] }[] = [];
    for (const book of this.#books.values()) {
      if (book.device.isHost) continue;
      const own = [...new Set(handles)].filter((handle) => handle.device === book.device);
      if (own.length > 0) result.push({ book, own });
    }
    return result;
  }

  /** The latest last, so that stages stand in the order in which they run. */
  #rememberStage(handles: readonly ModelHandle[], name: string, request: () => LoadRequest): void {
    const { model } = mainComponent(handles);
    const stages = this.#lastStages.get(model) ?? new Map<string, () => LoadRequest>();
    stages.delete(name);
    stages.set(name, request);
    this.#lastStages.set(model, stages);
  }

  /** Whether all that the plan streams is pinned (true), or nothing of it (false). */
  #sourceOf(plan: Plan): boolean | null {
    const kinds = plan.components
      .filter(({ streamed }) => streamed.length > 0)
      .map(({ component, streamed }) => this.pins.sourceOf(this.handle(component), streamed));
    return kinds.length > 0 && kinds.every((kind) => kind === kinds[0]) ? kinds[0]! : null;
  }

  #pinBudget(book: DeviceBook, policy: VramPolicy): number {
    if (this.calibration.pinningHelps(book.key) === false) return 0;
    const memory = this.#options.hostMemory?.();
    if (memory === undefined) return policy.maxPinnedBytes;
    const spare = Math.max(0, memory.availableBytes - policy.ramReserveBytes);
    return Math.min(policy.maxPinnedBytes, this.pins.bytes + spare);
  }
}

/** A stage that finds everything in its place needs no words. */
function changesAnything(plan: Plan): boolean {
  if (plan.giveUps.length > 0 || plan.overBudgetBytes > 0) return true;
  return plan.components.some(({ uploadBytes, leave }) => uploadBytes > 0 || leave.length > 0);
}

export function isOutOfDeviceMemory(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'OutOfDeviceMemory';
}

function throwIfCancelled(signal: CancelToken | undefined): void {
  if (signal?.cancelled) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
}

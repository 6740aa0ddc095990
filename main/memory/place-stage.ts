import type { CancelToken } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import type { ActiveStage, DeviceBook } from './device-book.ts';
import { carryOut, planLine } from './executor.ts';
import type { Inventory } from './inventory.ts';
import type { StageLearning } from './learning.ts';
import type { StageMeasurement } from './measure.ts';
import type { ModelHandle } from './model-handle.ts';
import { isOutOfDeviceMemory } from './out-of-memory.ts';
import type { PinBudget } from './pin-budget.ts';
import type { PlanLog } from './plan-log.ts';
import { planBeforeNext, unitsToCome } from './planner/next-stage.ts';
import { planLoad } from './planner/plan.ts';
import type { Reason } from './planner/reasons.ts';
import type { LoadRequest, Plan } from './planner/types.ts';
import { resolveMode, type VramPolicy } from './policy.ts';
import type { StageRequests } from './stage-requests.ts';
import type { LoadOptions, StageFailure } from './stages.ts';
import type { Trace } from './trace.ts';
import { RoomWait } from './waiting.ts';

export interface StagePlacerOptions {
  inventory: Inventory;
  requests: StageRequests;
  learning: StageLearning;
  trace: Trace;
  planLog: PlanLog;
  pins: PinBudget;
  /** Bytes of host memory that may be pinned now. */
  pinBudget: (book: DeviceBook, policy: VramPolicy) => number;
  /** Policy of requests that bring none. */
  policy: () => VramPolicy;
  checkAlways: boolean;
}

/** A stage in its place on one device. */
export interface PlacedStage {
  book: DeviceBook;
  stage: ActiveStage;
  plan: Plan;
  measurement: StageMeasurement;
  /** What the stage after it streams first may come up already. */
  hasNext: boolean;
}

/** Plans are made anew, with fresh numbers, when a device refuses what its driver said was free. */
const maxReplans = 2;

/** Plans a stage on one device, waits for room where another request holds it, carries the plan out, and ends the stage. */
export class StagePlacer {
  readonly #options: StagePlacerOptions;

  constructor(options: StagePlacerOptions) {
    this.#options = options;
  }

  async place(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    options: LoadOptions,
  ): Promise<PlacedStage> {
    const { requests, trace, policy } = this.#options;
    const { name, owner = name, priority = 0, signal } = options;
    const tell = (why: Reason): void => {
      trace.add({ kind: 'wait', device: book.id, subject: name, bytes: 0, why });
      options.onWait?.(why);
    };
    const wait = new RoomWait({ book, name, owner, priority, signal, onWait: tell });
    for (;;) {
      throwIfCancelled(signal);
      const placed = await book.lock.run(async () => {
        await handles[0]?.settle();
        const request = requests.request(book, handles, memory, options);
        const state = () => requests.state(book, options.policy ?? policy());
        if (wait.shouldWait(() => planLoad(state(), request).overBudgetBytes)) return null;
        return this.#placeNow(book, handles, memory, request, options);
      });
      if (placed !== null) return placed;
      const over = await wait.next();
      if (over !== null) tell(over);
    }
  }

  end(placed: PlacedStage, estimate: number, failure: StageFailure | null): void {
    const { book, stage, plan, measurement } = placed;
    const { name, handles, disturbed, workingBytes: reserved } = stage;
    const pinned = this.#sourceOf(plan);
    const { learning, trace } = this.#options;
    const bytes = learning.end(measurement, {
      name,
      handles,
      disturbed,
      failure,
      estimate,
      reserved,
      pinned,
    });
    const ms = measurement.elapsedMs;
    if (failure === null) book.notePrediction(plan.prediction, ms);
    book.end(stage);
    if (failure !== null || !placed.hasNext) book.expect([]);
    trace.add({ kind: 'stage_end', device: book.id, subject: name, bytes: bytes ?? 0, ms });
  }

  async #placeNow(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    memory: number,
    request: LoadRequest,
    options: LoadOptions,
  ): Promise<PlacedStage> {
    const { learning, requests, trace } = this.#options;
    const { name, owner = name, passes, goesOn } = options;
    const policy = options.policy ?? this.#options.policy();
    if (learning.wantsMeasuring(book, handles, name, memory)) await book.trim('all');
    const plan = await this.#carryOut(book, request, policy, options);
    requests.remember(book, handles, memory, { name, passes, goesOn });
    const { workingBytes } = plan.budget;
    const stage: ActiveStage = { name, owner, handles, workingBytes, slots: plan.slots, disturbed: false };
    book.begin(stage);
    const text = planLine(plan);
    trace.add({ kind: 'stage_begin', device: book.id, subject: name, bytes: workingBytes, text });
    const measurement = learning.begin(book, handles, policy.residency);
    return { book, stage, plan, measurement, hasNext: options.next !== undefined };
  }

  async #carryOut(
    book: DeviceBook,
    request: LoadRequest,
    policy: VramPolicy,
    { next, signal, onProgress }: LoadOptions,
  ): Promise<Plan> {
    const { inventory, requests, trace, pins, planLog } = this.#options;
    const mode = resolveMode(policy.mode, book.unified);
    for (let attempt = 0; ; attempt++) {
      const state = requests.state(book, policy);
      // What the device refused is asked for again without anything beside it.
      const known = next !== undefined && attempt === 0 && !next.handles.some(({ disposed }) => disposed);
      const following = known ? requests.stage(book, next) : null;
      const planned = planBeforeNext(state, request, following);
      const { plan } = planned;
      planLog.add({ state, request: planned.request });
      if (changesAnything(plan)) this.#tracePlan(book, plan);
      try {
        await carryOut(plan, {
          book,
          handle: (id) => inventory.handle(id),
          trace,
          pins,
          pinBudget: () => this.#options.pinBudget(book, policy),
          inPlace: mode === 'shared',
          // Where memory is shared, a copy on the device is one in host memory already.
          dropHostCopies: policy.hostCopies === 'off' || (mode === 'shared' && policy.hostCopies === 'auto'),
          signal,
          onProgress,
        });
        book.expect(unitsToCome(planned).map(([id, unit]) => [inventory.handle(id), unit] as const));
        if (this.#options.checkAlways) inventory.verify();
        return plan;
      } catch (error) {
        if (!isOutOfDeviceMemory(error) || attempt >= maxReplans) throw error;
        const text = error instanceof Error ? error.message : String(error);
        trace.add({ kind: 'out_of_memory', device: book.id, subject: request.name, bytes: 0, text });
        await book.trim();
      }
    }
  }

  /** Giving up is told when it happens. */
  #tracePlan(book: DeviceBook, plan: Plan): void {
    const told = new Set(plan.giveUps.map((step) => step.reason));
    for (const why of plan.reasons) {
      if (told.has(why)) continue;
      const { name: subject, peakBytes: bytes } = plan;
      this.#options.trace.add({ kind: 'plan', device: book.id, subject, bytes, why });
    }
  }

  /** Whether all that the plan streams is pinned (true), or nothing of it (false). */
  #sourceOf(plan: Plan): boolean | null {
    const { inventory, pins } = this.#options;
    const kinds = plan.components
      .filter(({ streamed }) => streamed.length > 0)
      .map(({ component, streamed }) => pins.sourceOf(inventory.handle(component), streamed));
    return kinds.length > 0 && kinds.every((kind) => kind === kinds[0]) ? kinds[0]! : null;
  }
}

/** A stage that finds everything in its place needs no words. */
function changesAnything(plan: Plan): boolean {
  if (plan.giveUps.length > 0 || plan.overBudgetBytes > 0) return true;
  return plan.components.some(({ uploadBytes, leave }) => uploadBytes > 0 || leave.length > 0);
}

function throwIfCancelled(signal: CancelToken | undefined): void {
  if (signal?.cancelled) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
}

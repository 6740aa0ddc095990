import type { DeviceBook } from './device-book.ts';
import { mainComponent, type StageLearning } from './learning.ts';
import type { ModelHandle } from './model-handle.ts';
import { planRequest, type RequestPlan, type StageRequest } from './planner/request.ts';
import type { LoadRequest, PlannerState } from './planner/types.ts';
import { plannerState } from './planner-state.ts';
import type { VramPolicy } from './policy.ts';
import type { StageToPlan } from './stages.ts';

export interface RequestSources {
  handles: () => Iterable<ModelHandle>;
  isPinned: (model: string) => boolean;
  learning: StageLearning;
}

type StageNamed = Pick<StageToPlan, 'name' | 'passes' | 'goesOn'>;

/** Stages in the planner's words, with what is known of them by now; and the stages that each model ran last. */
export class StageRequests {
  readonly #sources: RequestSources;
  readonly #last = new Map<string, Map<string, () => LoadRequest>>();

  constructor(sources: RequestSources) {
    this.#sources = sources;
  }

  state(book: DeviceBook, policy: VramPolicy): PlannerState {
    const { handles, isPinned, learning } = this.#sources;
    return plannerState(book, policy, {
      handles: handles(),
      isPinned,
      unitTimes: (handle) => learning.unitTimes(book, handle),
    });
  }

  request(book: DeviceBook, handles: readonly ModelHandle[], memory: number, stage: StageNamed): LoadRequest {
    return {
      name: stage.name,
      components: [...new Set(handles.map(({ id }) => id))],
      workingBytes: this.#sources.learning.reserve(book, handles, stage, memory),
      reusableBytes: this.#sources.learning.reusable(book, handles, stage.name, memory),
      passes: stage.passes,
    };
  }

  /** Its part on this device; null where it has none. */
  stage(book: DeviceBook, stage: StageToPlan): LoadRequest | null {
    const own = stage.handles.filter((handle) => handle.device === book.device);
    return own.length === 0 ? null : this.request(book, own, stage.memory, stage);
  }

  /** Plans all stages of a request at once, each on what the one before leaves. Nothing moves. */
  planAll(book: DeviceBook, stages: readonly StageToPlan[], policy: VramPolicy): RequestPlan {
    const requests: StageRequest[] = [];
    for (const stage of stages) {
      const { memory, memoryAt, length } = stage;
      const request = this.stage(book, stage);
      if (request === null) continue;
      const factor = memory > 0 ? request.workingBytes / memory : 1;
      const splits = length !== undefined && memoryAt !== undefined;
      requests.push(
        splits ? { ...request, length, workingAt: (shorter) => memoryAt(shorter) * factor } : request,
      );
    }
    return planRequest(this.state(book, policy), requests);
  }

  /** The latest last, so that stages stand in the order in which they run. */
  remember(book: DeviceBook, handles: readonly ModelHandle[], memory: number, stage: StageNamed): void {
    const { model } = mainComponent(handles);
    const stages = this.#last.get(model) ?? new Map<string, () => LoadRequest>();
    stages.delete(stage.name);
    stages.set(stage.name, () => this.request(book, handles, memory, stage));
    this.#last.set(model, stages);
  }

  /** The stages that a model ran last, with what is known of them by now: what a question "what if" is asked about. */
  last(model: string): LoadRequest[] {
    return [...(this.#last.get(model)?.values() ?? [])].map((request) => request());
  }

  forget(model: string): void {
    this.#last.delete(model);
  }
}

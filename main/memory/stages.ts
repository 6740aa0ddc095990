import type { CancelToken } from '../../native/addon.ts';
import type { ModelHandle } from './model-handle.ts';
import type { Reason } from './planner/reasons.ts';
import type { Plan } from './planner/types.ts';
import type { VramPolicy } from './policy.ts';

export interface LoadOptions {
  /** The stage, in words. */
  name: string;
  /** The request that it belongs to. Stages of one request may nest and never wait for each other. */
  owner?: string;
  passes?: number;
  goesOn?: boolean;
  /** The stage after this one, where it is known: what it streams first comes up while this one ends. */
  next?: StageToPlan;
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
  /** Its body goes on in later stages of the same name: each may need all of it. */
  goesOn?: boolean;
  /** Where the stage could be split: its length, and the working memory of another one. */
  length?: number;
  memoryAt?: (length: number) => number;
}

/** How a stage ended that did not end well. */
export interface StageFailure {
  /** What its body threw; null where nobody wanted the rest. */
  error: unknown;
  /** It runs again at once. */
  retried?: boolean;
}

/** Components in their places, for as long as a stage needs them. */
export interface Placement {
  /** One per device that something had to be planned for; none on the processor. */
  readonly plans: readonly Plan[];
  /** Resolves when the devices have given back what the stage disposed of: call it before `release`, to measure right. */
  settle(): Promise<void>;
  /**
   * The stage is over: its components may give up memory again. What a failed one measured means nothing, but what a
   * device refused it teaches how much to reserve next time.
   */
  release(failure?: StageFailure | null): void;
}

import type { VramMode } from '../policy.ts';
import type { Reason } from './reasons.ts';

/** All sizes are bytes, all times milliseconds. The planner sees only this: no device, no file, no clock. */
export interface PlannerUnit {
  bytes: number;
  /** `hot`: placed first; `cold`: placed last, gives up first; `fixed`: never streams. */
  mark: 'hot' | 'cold' | 'fixed' | null;
  placed: boolean;
  /** Measured time of one run; null until measured. */
  computeMs: number | null;
}

export interface PlannerComponent {
  /** `engine:component`. */
  id: string;
  model: string;
  device: string;
  kind: 'sequence' | 'oneshot';
  fixedBytes: number;
  fixedPlaced: boolean;
  /** In running order. */
  units: readonly PlannerUnit[];
  /** Bytes of fixed part and units together. */
  sizeBytes: number;
  /** Bytes on the device now. */
  loadedBytes: number;
  /** Placed units in the order in which they were placed; giving up walks it backwards. */
  placementOrder: readonly number[];
  /** Grows with each use; the smallest gives up first. */
  lastUsed: number;
  pinned: boolean;
  /** Held by a stage that runs now: never gives up. */
  inUse: boolean;
  /** Most bytes it may have on the device, after it ran out of memory there. */
  capBytes: number | null;
}

export interface PlannerDevice {
  id: string;
  totalBytes: number;
  /** What the driver reports free. It only lowers the budget: the ledger decides what we gave back. */
  driverFreeBytes: number;
  /** What this process holds, caches included. */
  heldBytes: number;
  /** Parts of `heldBytes` that no running stage uses: scratch memory for graphs, and streaming slots. */
  scratchBytes: number;
  idleSlotBytes: number;
  /** Those slots, where all of them are idle. */
  idleSlots?: Slots | null;
  /** Working memory that running stages were promised and have not taken yet. */
  promisedBytes: number;
  /** Uploads, bytes per millisecond; null until measured. */
  copyRate: number | null;
}

export interface PlannerPolicy {
  mode: VramMode;
  reserveBytes: number;
  limitBytes: number | null;
  asyncOffload: number;
  residency: 'rule' | 'cost';
}

export interface PlannerState {
  device: PlannerDevice;
  /** Of every device; the planner looks at its device's only. */
  components: readonly PlannerComponent[];
  policy: PlannerPolicy;
  /** Slots that streaming stages of other requests use now. */
  slotsInUse?: Slots | null;
}

export interface LoadRequest {
  /** What asks, in words: the stage. */
  name: string;
  components: readonly string[];
  /** Working memory, calibrated. */
  workingBytes: number;
  /** Most bytes of idle scratch memory and kept graphs that it takes for this; default: all. */
  reusableBytes?: number;
  /** How often each unit runs; 1 when unknown. */
  passes?: number;
  /** What the stage after this one streams through: made now where memory is left, so that its first units can come up. */
  slotsToCome?: Slots;
}

export interface Budget {
  /** min(driver's free, total - held), plus our own unused caches, minus what running stages were promised. */
  freeBytes: number;
  /** Bytes of the request's weights (and slots) not yet on the device + working memory + reserve. */
  neededBytes: number;
  workingBytes: number;
  reserveBytes: number;
  /** needed - free, at least 0: what idle components are asked for. */
  shortBytes: number;
  /** What they give. */
  givenBytes: number;
}

export interface GiveUp {
  component: string;
  /** In the order in which they leave. */
  units: number[];
  /** The fixed part leaves too: the component is off the device. */
  fixed: boolean;
  bytes: number;
  reason: Reason;
}

export type PartialReason =
  | 'budget'
  | 'vram_mode low'
  | 'vram_mode none'
  | 'capped after out of memory'
  | 'gave up for another component';

export interface ComponentPlan {
  component: string;
  /** Units on the device during the stage, in placement order. */
  resident: number[];
  streamed: number[];
  /** Resident before, streamed now: they leave before anything is placed. */
  leave: number[];
  /** Bytes to upload before the stage starts. */
  uploadBytes: number;
  residentBytes: number;
  streamedBytes: number;
  partial: PartialReason | null;
  reason: Reason;
}

export interface Slots {
  count: number;
  bytes: number;
  prefetch: boolean;
}

export interface Prediction {
  uploadMs: number;
  /** One steady pass through all units. */
  passMs: number;
  totalMs: number;
  /** One pass with everything resident: pure compute. */
  computeMs: number;
}

export interface Plan {
  name: string;
  device: string;
  mode: VramMode;
  budget: Budget;
  /** In the order in which they happen. */
  giveUps: GiveUp[];
  /** Smaller components first. */
  components: ComponentPlan[];
  slots: Slots | null;
  /**
   * Slots on the device meanwhile: those, or larger ones that are there already or that the next stage needs, where
   * memory is left over. Null: what is there stays, unless caches are emptied.
   */
  slotsKept: Slots | null;
  /** Our caches have to be emptied before placing, because their memory is needed. */
  trimCaches: boolean;
  /** Weights, slots and working memory of this request while it runs. */
  peakBytes: number;
  /** Even the smallest working set is above the budget; it is tried all the same. */
  overBudgetBytes: number;
  prediction: Prediction | null;
  reasons: Reason[];
}

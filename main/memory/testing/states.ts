import type {
  PlannerComponent,
  PlannerDevice,
  PlannerPolicy,
  PlannerState,
  PlannerUnit,
} from '../planner/types.ts';
import { MiB } from '../policy.ts';

/** Sizes in MiB, as the situations in the tests give them. */
export interface ComponentSketch {
  id: string;
  kind?: PlannerComponent['kind'];
  /** Each unit as [MiB, ms] or MiB alone (unmeasured). */
  units?: readonly (number | readonly [number, number])[];
  marks?: readonly PlannerUnit['mark'][];
  fixed?: number;
  /** Placed units, in the order of placement; `all` for a whole component. */
  placed?: readonly number[] | 'all';
  lastUsed?: number;
  pinned?: boolean;
  inUse?: boolean;
  cap?: number | null;
  device?: string;
}

export function component(sketch: ComponentSketch): PlannerComponent {
  const sizes = sketch.units ?? [];
  const placementOrder = sketch.placed === 'all' ? sizes.map((_, unit) => unit) : [...(sketch.placed ?? [])];
  const placed = new Set(placementOrder);
  const units = sizes.map((unit, index): PlannerUnit => {
    const [size, ms] = typeof unit === 'number' ? [unit, null] : unit;
    const mark = sketch.marks?.[index] ?? null;
    return { bytes: size * MiB, mark, placed: placed.has(index), computeMs: ms };
  });
  const fixedBytes = (sketch.fixed ?? 0) * MiB;
  const fixedPlaced = sketch.placed !== undefined;
  return {
    id: sketch.id,
    model: sketch.id.split(':')[0]!,
    device: sketch.device ?? 'GPU0',
    kind: sketch.kind ?? 'oneshot',
    fixedBytes,
    fixedPlaced,
    units,
    sizeBytes: units.reduce((bytes, unit) => bytes + unit.bytes, fixedBytes),
    loadedBytes: placementOrder.reduce(
      (bytes, unit) => bytes + units[unit]!.bytes,
      fixedPlaced ? fixedBytes : 0,
    ),
    placementOrder,
    lastUsed: sketch.lastUsed ?? 0,
    pinned: sketch.pinned ?? false,
    inUse: sketch.inUse ?? false,
    capBytes: sketch.cap === undefined || sketch.cap === null ? null : sketch.cap * MiB,
  };
}

export interface StateSketch {
  total: number;
  foreign?: number;
  reserve?: number;
  components: readonly PlannerComponent[];
  /** Idle scratch memory and slots that we hold. */
  scratch?: number;
  idleSlots?: number;
  /** MiB per second. */
  rate?: number | null;
  policy?: Partial<PlannerPolicy>;
}

export function state(sketch: StateSketch): PlannerState {
  const own = sketch.components
    .filter((one) => one.device === 'GPU0')
    .reduce((bytes, one) => bytes + one.loadedBytes, 0);
  const heldBytes = own + ((sketch.scratch ?? 0) + (sketch.idleSlots ?? 0)) * MiB;
  const device: PlannerDevice = {
    id: 'GPU0',
    totalBytes: sketch.total * MiB,
    driverFreeBytes: (sketch.total - (sketch.foreign ?? 0)) * MiB - heldBytes,
    heldBytes,
    scratchBytes: (sketch.scratch ?? 0) * MiB,
    idleSlotBytes: (sketch.idleSlots ?? 0) * MiB,
    promisedBytes: 0,
    copyRate: sketch.rate === undefined || sketch.rate === null ? null : (sketch.rate * MiB) / 1000,
  };
  return {
    device,
    components: sketch.components,
    policy: {
      mode: 'normal',
      reserveBytes: (sketch.reserve ?? 512) * MiB,
      limitBytes: null,
      asyncOffload: 1,
      residency: 'cost',
      ...sketch.policy,
    },
  };
}

/** `count` equal units. */
export function repeat<T>(count: number, unit: T): T[] {
  return Array.from({ length: count }, () => unit);
}

/** The state after a plan was carried out. */
export function afterPlan(
  before: PlannerState,
  plan: {
    giveUps: readonly { component: string; units: number[]; fixed: boolean }[];
    components: readonly { component: string; resident: number[]; leave: number[] }[];
  },
): PlannerState {
  let heldBytes = before.device.heldBytes;
  const components = before.components.map((one) => {
    const gives = plan.giveUps.find(({ component: id }) => id === one.id);
    const gets = plan.components.find(({ component: id }) => id === one.id);
    if (gives === undefined && gets === undefined) return one;
    const placementOrder =
      gets !== undefined ? gets.resident : one.placementOrder.filter((unit) => !gives!.units.includes(unit));
    const placed = new Set(placementOrder);
    const fixedPlaced = gets !== undefined || (one.fixedPlaced && !gives!.fixed);
    const units = one.units.map((unit, index) => ({ ...unit, placed: placed.has(index) }));
    const loadedBytes = placementOrder.reduce(
      (bytes, unit) => bytes + units[unit]!.bytes,
      fixedPlaced ? one.fixedBytes : 0,
    );
    heldBytes += loadedBytes - one.loadedBytes;
    return { ...one, units, placementOrder, fixedPlaced, loadedBytes };
  });
  const freed = before.device.heldBytes - heldBytes;
  return {
    ...before,
    components,
    device: { ...before.device, heldBytes, driverFreeBytes: before.device.driverFreeBytes + freed },
  };
}

import type {
  Arena,
  CancelToken,
  Device,
  DeviceInfo,
  DeviceMemory,
  FaultPlan,
  State,
  StreamerOptions,
  StreamerStats,
  TensorData,
  UnitStats,
  WeightStore,
} from '../../../native/addon.ts';
import { Module } from '../../nn/module.ts';
import { ModelHandle } from '../model-handle.ts';
import { MiB } from '../policy.ts';
import type { ComponentKind, Mark, UnitDecision } from '../units.ts';

/** What the addon rejects with. */
export class FakeNativeError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'NativeError';
    this.code = code;
  }
}

type Purpose = keyof DeviceMemory['held'];

/**
 * A device without any computing: it counts. Every allocation counts against its size and fails beyond it or when a
 * fault says so; sizes are bytes. For tests of policy; results are tested on the simulated device.
 */
export class FakeDevice implements Device {
  readonly name: string;
  readonly kind: DeviceInfo['kind'];
  readonly simulated = false;
  readonly isHost: boolean;
  readonly mapsHostMemory: boolean;
  readonly locksHostMemory: boolean;
  readonly threads = 0;
  readonly held: DeviceMemory['held'] = { weights: 0, slots: 0, compute: 0, io: 0, state: 0 };
  readonly log: string[] = [];
  totalBytes: number;
  foreignBytes: number;
  allocations = 0;
  copies = 0;
  closed = false;
  streamer: StreamerOptions | null = null;
  profiling = false;
  /** What was said to stream next, as `component[unit]`. */
  expected: string[] = [];
  #failAllocation = 0;
  #failCopy = 0;
  #peak = 0;
  #peakWorking = 0;

  constructor(
    options: {
      name?: string;
      totalMiB?: number;
      foreignMiB?: number;
      isHost?: boolean;
      mapsHostMemory?: boolean;
      locksHostMemory?: boolean;
      kind?: DeviceInfo['kind'];
    } = {},
  ) {
    this.isHost = options.isHost ?? false;
    this.mapsHostMemory = options.mapsHostMemory ?? false;
    this.locksHostMemory = options.locksHostMemory ?? false;
    this.name = options.name ?? (this.isHost ? 'CPU' : 'GPU0');
    this.kind = options.kind ?? (this.isHost ? 'cpu' : 'gpu');
    this.totalBytes = (options.totalMiB ?? 8192) * MiB;
    this.foreignBytes = (options.foreignMiB ?? 0) * MiB;
  }

  get heldBytes(): number {
    return Object.values(this.held).reduce((sum, bytes) => sum + bytes, 0);
  }

  allocate(purpose: Purpose, bytes: number): void {
    this.allocations += 1;
    if (this.#failAllocation > 0 && --this.#failAllocation === 0) {
      throw new FakeNativeError(
        'OutOfDeviceMemory',
        `Injected: allocation of ${bytes} bytes for ${purpose} fails.`,
      );
    }
    const free = this.totalBytes - this.foreignBytes - this.heldBytes;
    if (bytes > free) {
      throw new FakeNativeError('OutOfDeviceMemory', `${bytes} bytes for ${purpose} wanted, ${free} free.`);
    }
    this.held[purpose] += bytes;
    this.#peak = Math.max(this.#peak, this.heldBytes);
    this.#peakWorking = Math.max(this.#peakWorking, this.#working());
  }

  free(purpose: Purpose, bytes: number): void {
    this.held[purpose] -= bytes;
    if (this.held[purpose] < 0) throw new Error(`${purpose} is below zero: freed twice.`);
  }

  copy(): void {
    this.copies += 1;
    if (this.#failCopy > 0 && --this.#failCopy === 0)
      throw new FakeNativeError('DeviceLost', 'Injected: the copy fails.');
  }

  #working(): number {
    return this.held.compute + this.held.io + this.held.state;
  }

  info(): DeviceInfo {
    const freeBytes = this.memory().freeBytes;
    const caps = { async: true, hostBuffer: true, bufferFromHostPtr: this.mapsHostMemory, events: true };
    const { name, kind, totalBytes } = this;
    return { name, description: 'A fake', kind, backend: 'fake', freeBytes, totalBytes, caps };
  }

  memory(): DeviceMemory {
    return {
      totalBytes: this.totalBytes,
      freeBytes: Math.max(0, this.totalBytes - this.foreignBytes - this.heldBytes),
      held: { ...this.held },
      peakBytes: this.#peak,
      peakWorkingBytes: this.#peakWorking,
    };
  }

  resetPeak(): void {
    this.#peak = this.heldBytes;
    this.#peakWorking = this.#working();
  }

  setForeignBytes(bytes: number): void {
    this.foreignBytes = bytes;
  }

  setFaults(plan: FaultPlan | null): void {
    this.#failAllocation = plan?.failAllocation ?? 0;
    this.#failCopy = plan?.failCopy ?? 0;
  }

  setProfiling(on: boolean): void {
    this.profiling = on;
  }

  supportsDType(): boolean {
    return true;
  }

  async setStreamer(options: StreamerOptions | null): Promise<void> {
    if (this.streamer !== null) this.free('slots', this.streamer.slots * this.streamer.slotBytes);
    this.streamer = null;
    if (options !== null) this.allocate('slots', options.slots * options.slotBytes);
    this.streamer = options;
    this.log.push(options === null ? 'no slots' : `slots ${options.slots} x ${options.slotBytes / MiB}`);
  }

  expectUnits(units: readonly (readonly [WeightStore, number])[]): void {
    this.expected = units.map(([store, unit]) => `${store.component}[${unit}]`);
  }

  streamerStats(): StreamerStats {
    const counts = { streamedBytes: 0, copies: 0, reused: 0, onTheSpot: 0, ahead: 0, wasted: 0 };
    return { ...counts, copySeconds: 0, copiedBytes: 0, waitSeconds: 0 };
  }

  createArena(): FakeArena {
    return new FakeArena(this);
  }

  createState(): Promise<State> {
    throw new Error('The fake device keeps no tensors.');
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

export class FakeArena implements Arena {
  bytes = 0;
  readonly #device: FakeDevice;

  constructor(device: FakeDevice) {
    this.#device = device;
  }

  /** What running a graph of this size does. */
  grow(bytes: number): void {
    if (bytes <= this.bytes) return;
    // As ggml does: the old buffer goes first.
    this.#device.free('compute', this.bytes);
    this.bytes = 0;
    this.#device.allocate('compute', bytes);
    this.bytes = bytes;
  }

  async trim(): Promise<void> {
    this.dispose();
  }

  dispose(): void {
    this.#device.free('compute', this.bytes);
    this.bytes = 0;
  }
}

export class FakeStore implements WeightStore {
  static #nextId = 0;
  readonly component: string;
  readonly id = FakeStore.#nextId++;
  readonly fixedBytes: number;
  /** Values are converted; else they are used as they lie in their file. */
  readonly owned: boolean;
  readonly replaced: string[] = [];
  readonly pinned = new Set<number>();
  readonly dropped = new Set<number>();
  streamedBytes = 0;
  disposed = false;
  readonly #unitBytes: readonly number[];
  readonly #placed = new Set<number>();
  readonly #unpins = new Map<number, number>();
  readonly #stats = new Map<number, UnitStats>();
  #device: FakeDevice | null = null;

  constructor(component: string, fixedBytes: number, unitBytes: readonly number[], owned = true) {
    this.component = component;
    this.fixedBytes = fixedBytes;
    this.#unitBytes = unitBytes;
    this.owned = owned;
  }

  get unitCount(): number {
    return this.#unitBytes.length;
  }

  unitBytes(unit: number): number {
    return unit === -1 ? this.fixedBytes : this.#unitBytes[unit]!;
  }

  ownedBytes(unit: number): number {
    return this.owned ? this.unitBytes(unit) : 0;
  }

  get ownedHostBytes(): number {
    let bytes = 0;
    for (let unit = -1; unit < this.unitCount; unit++) {
      if (!this.dropped.has(unit)) bytes += this.ownedBytes(unit);
    }
    return bytes;
  }

  unitStats(unit: number): UnitStats {
    const nothing = { copies: 0, copiedBytes: 0, copySeconds: 0, mappedBytes: 0, refusedBytes: 0 };
    return this.#stats.get(unit) ?? { ...nothing, runs: 0, computeSeconds: 0 };
  }

  get mappedBytes(): number {
    return [...this.#stats.values()].reduce((sum, { mappedBytes }) => sum + mappedBytes, 0);
  }

  /** Pretend that the unit ran and took this long. */
  noteRun(unit: number, seconds: number): void {
    const stats = this.unitStats(unit);
    this.#stats.set(unit, { ...stats, runs: stats.runs + 1, computeSeconds: stats.computeSeconds + seconds });
  }

  bind(device: Device): void {
    this.#device = device as FakeDevice;
  }

  async place(unit: number, signal?: CancelToken, inPlace = false): Promise<number> {
    await Promise.resolve();
    if (signal?.cancelled) throw new FakeNativeError('Cancelled', 'Cancelled.');
    if (this.#placed.has(unit)) return 0;
    this.dropped.delete(unit);
    const device = this.#device!;
    device.allocate('weights', this.unitBytes(unit));
    const stats = this.unitStats(unit);
    const bytes = this.unitBytes(unit);
    if (inPlace && device.mapsHostMemory) {
      this.#placed.add(unit);
      this.#stats.set(unit, { ...stats, mappedBytes: bytes });
      device.log.push(`=${this.component}[${unit}]`);
      return bytes;
    }
    try {
      device.copy();
    } catch (error) {
      device.free('weights', this.unitBytes(unit));
      throw error;
    }
    this.#placed.add(unit);
    this.#stats.set(unit, {
      ...stats,
      copies: stats.copies + 1,
      copiedBytes: stats.copiedBytes + bytes,
      copySeconds: stats.copySeconds + bytes / (12_000 * MiB),
    });
    device.log.push(`+${this.component}[${unit}]`);
    return bytes;
  }

  async unplace(unit: number): Promise<number> {
    await Promise.resolve();
    if (!this.#placed.delete(unit)) return 0;
    this.#stats.set(unit, { ...this.unitStats(unit), mappedBytes: 0 });
    this.#device!.free('weights', this.unitBytes(unit));
    this.#device!.log.push(`-${this.component}[${unit}]`);
    return this.unitBytes(unit);
  }

  isPlaced(unit: number): boolean {
    return this.#placed.has(unit);
  }

  async dropHost(unit: number): Promise<number> {
    if (!this.#placed.has(unit) || this.dropped.has(unit)) return 0;
    this.dropped.add(unit);
    this.pinned.delete(unit);
    return this.ownedBytes(unit);
  }

  async replace(name: string, _data: TensorData): Promise<void> {
    this.replaced.push(name);
  }

  async pin(unit: number, signal?: CancelToken): Promise<number> {
    const asked = this.#unpins.get(unit);
    await Promise.resolve();
    if (this.disposed || signal?.cancelled || this.unitBytes(unit) === 0) return 0;
    // What was asked for later ends later.
    if (this.#unpins.get(unit) === asked) this.pinned.add(unit);
    this.dropped.delete(unit);
    this.#device!.log.push(`!${this.component}[${unit}]`);
    return this.unitBytes(unit);
  }

  unpin(unit: number): void {
    this.#unpins.set(unit, (this.#unpins.get(unit) ?? 0) + 1);
    this.pinned.delete(unit);
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    for (const unit of [...this.#placed]) await this.unplace(unit);
    this.pinned.clear();
  }
}

class Part extends Module {}

class Parts extends Module {
  readonly layers: Part[];
  constructor(count: number) {
    super();
    this.layers = Array.from({ length: count }, () => new Part());
  }
}

export interface FakeComponent {
  handle: ModelHandle;
  store: FakeStore;
  parts: readonly Module[];
}

/** A component of a fixed part and units, sizes in MiB. */
export function fakeComponent(
  device: FakeDevice,
  options: {
    model?: string;
    component: string;
    kind?: ComponentKind;
    fixed?: number;
    units?: readonly number[];
    marks?: readonly (Mark | null)[];
    /** Its weights are used as they lie in their file. */
    inFile?: boolean;
  },
): FakeComponent {
  const sizes = (options.units ?? []).map((size) => size * MiB);
  const fixedBytes = (options.fixed ?? 0) * MiB;
  const module = new Parts(sizes.length);
  const parts = module.layers;
  const units: UnitDecision = {
    units: sizes.map((bytes, index) => ({
      name: `layers.${index}`,
      module: parts[index]!,
      parameters: [],
      bytes,
      mark: options.marks?.[index] ?? null,
    })),
    unitOf: new Map(),
    unitModules: [...parts],
    fixedBytes,
  };
  const store = new FakeStore(options.component, fixedBytes, sizes, options.inFile !== true);
  const model = options.model ?? 'test';
  const handle = new ModelHandle({
    component: options.component,
    engine: model.split(':')[0]!,
    model,
    kind: options.kind ?? 'oneshot',
    module,
    store,
    units,
    device,
  });
  return { handle, store, parts };
}

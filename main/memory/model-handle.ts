import type { CancelToken, Device, TensorData, WeightStore } from '../../native/addon.ts';
import type { Partial } from '../contract/speech.ts';
import type { Module } from '../nn/module.ts';
import { type ComponentKind, type Mark, markOf, type UnitDecision } from './units.ts';

export interface HandleOptions {
  /** `acoustic`, `talker`, ... unique within the model. */
  component: string;
  engine: string;
  /** `engine` or `engine:variant`. */
  model: string;
  kind: ComponentKind;
  module: Module;
  store: WeightStore;
  units: UnitDecision;
  device: Device;
}

/** The fixed part's number in a weight store. */
export const fixedPart = -1;

/**
 * One component under the memory manager: a module, where its weights lie, and what was said of it. It carries
 * decisions out (`placeUnit`, `giveUpUnit`) and takes none. Its state is what the weight store says, always.
 */
export class ModelHandle {
  /** `model:component`, unique among loaded models. */
  readonly id: string;
  readonly component: string;
  readonly engine: string;
  readonly model: string;
  readonly kind: ComponentKind;
  readonly module: Module;
  readonly store: WeightStore;
  readonly device: Device;
  /** Bytes on the device by unit. */
  readonly unitBytes: readonly number[];
  readonly unitNames: readonly string[];
  /** Fixed part and all units, as they lie on the device. */
  readonly sizeBytes: number;
  /** Most bytes it may have on the device since it ran out of memory there; cleared when it leaves. */
  capBytes: number | null = null;
  /** Why it is only partly on the device; null when whole or absent. */
  partial: Partial | null = null;
  /** Grows with each use, over all handles. */
  lastUsed = 0;
  /** Stages that hold it now. */
  holders = 0;

  readonly #units: UnitDecision;
  readonly #marks = new Map<Module, Mark>();
  #unitMarks: (Mark | null)[];
  #placementOrder: number[] = [];
  #fixedPlaced = false;
  #loadedBytes = 0;
  #disposed = false;
  #movesInProgress = 0;

  constructor(options: HandleOptions) {
    this.component = options.component;
    this.engine = options.engine;
    this.model = options.model;
    this.id = `${options.model}:${options.component}`;
    this.kind = options.kind;
    this.module = options.module;
    this.store = options.store;
    this.device = options.device;
    this.#units = options.units;
    const { store, units } = options;
    if (store.unitCount !== units.units.length) {
      throw new Error(
        `The weights of "${this.id}" have ${store.unitCount} units and its module has ${units.units.length}: both must come from one decision.`,
      );
    }
    this.unitBytes = units.units.map((_, unit) => store.unitBytes(unit));
    this.unitNames = units.units.map(({ name }) => name);
    this.#unitMarks = units.units.map(({ mark }) => mark);
    this.sizeBytes = store.fixedBytes + this.unitBytes.reduce((sum, bytes) => sum + bytes, 0);
    store.bind(options.device);
  }

  /** Key of its measurements: they hold for every variant that loads the same component of the engine. */
  get calibrationKey(): string {
    return `${this.engine}:${this.component}`;
  }

  get fixedBytes(): number {
    return this.store.fixedBytes;
  }

  get unitCount(): number {
    return this.unitBytes.length;
  }

  get unitMarks(): readonly (Mark | null)[] {
    return this.#unitMarks;
  }

  /** On a host device everything is where it is used: nothing moves and nothing is counted. */
  get onHost(): boolean {
    return this.device.isHost;
  }

  get loadedBytes(): number {
    return this.onHost ? this.sizeBytes : this.#loadedBytes;
  }

  get streamedBytes(): number {
    return this.store.streamedBytes;
  }

  /** Owned in host memory, beside the page cache of the checkpoint. */
  get hostBytes(): number {
    return this.store.ownedHostBytes;
  }

  /** Of `loadedBytes`: weights that the device reads where they lie in the checkpoint, which is their host copy, too. */
  get mappedBytes(): number {
    return this.store.mappedBytes;
  }

  get inUse(): boolean {
    return this.holders > 0;
  }

  get isWhole(): boolean {
    return this.onHost || (this.#fixedPlaced && this.#placementOrder.length === this.unitCount);
  }

  get isPartial(): boolean {
    return !this.isWhole && this.#loadedBytes > 0;
  }

  get fixedPlaced(): boolean {
    return this.onHost || this.#fixedPlaced;
  }

  /** Of a unit, or of the fixed part (-1). */
  isPlaced(unit: number): boolean {
    return unit === fixedPart ? this.fixedPlaced : this.#placementOrder.includes(unit);
  }

  /** Placed units in the order in which they were placed. */
  get placementOrder(): readonly number[] {
    return this.#placementOrder;
  }

  /** Something of it is on its way to the device or back. */
  get moving(): boolean {
    return this.#movesInProgress > 0;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Say how a part runs. `hot` and `cold` take effect at the next placement; `fixed` on a module of a unit keeps the
   * whole unit on the device with the fixed part. (Marks known before loading belong into `decideUnits`.)
   */
  mark(module: Module, mark: Mark): void {
    this.#marks.set(module, mark);
    this.#unitMarks = this.#units.units.map((unit) => {
      const fixedInside = [...unit.module.namedModules()].some(
        ([, part]) => this.#marks.get(part) === 'fixed',
      );
      return fixedInside ? 'fixed' : (markOf(unit.module, this.module, this.#marks) ?? unit.mark);
    });
  }

  /**
   * New values for weights of `module`, by parameter path within the store. Every copy of them, on the host and on
   * the device, is the new one afterwards.
   */
  async replace(module: Module, values: ReadonlyMap<string, TensorData>): Promise<void> {
    const names = new Set([...module.namedParameters()].map(({ parameter }) => parameter.path));
    for (const name of values.keys()) {
      if (!names.has(name))
        throw new Error(`"${name}" is no weight of the module whose weights are replaced in "${this.id}".`);
    }
    for (const [name, data] of values) await this.store.replace(name, data);
  }

  /**
   * Place a unit, or the fixed part (-1). `inPlace`: what the device can read where it lies is not copied. Resolves with
   * the bytes allocated.
   */
  async placeUnit(unit: number, signal?: CancelToken, inPlace = false): Promise<number> {
    if (this.onHost || this.isPlaced(unit)) return 0;
    return this.#moving(async () => {
      const bytes = await this.store.place(unit, signal, inPlace);
      if (unit === fixedPart) this.#fixedPlaced = true;
      else this.#placementOrder.push(unit);
      this.#loadedBytes += this.#bytesOf(unit);
      return bytes;
    });
  }

  /** Give a unit (-1: the fixed part) up. Resolves with the bytes freed. */
  async giveUpUnit(unit: number): Promise<number> {
    if (this.onHost || !this.isPlaced(unit)) return 0;
    return this.#moving(async () => {
      const bytes = await this.store.unplace(unit);
      if (unit === fixedPart) this.#fixedPlaced = false;
      else this.#placementOrder = this.#placementOrder.filter((placed) => placed !== unit);
      this.#loadedBytes -= this.#bytesOf(unit);
      if (this.#loadedBytes === 0) {
        this.capBytes = null;
        this.partial = null;
      }
      return bytes;
    });
  }

  /** Leave the device: units in reverse of placement order, then the fixed part. Resolves with the bytes freed. */
  async leave(): Promise<number> {
    let freed = 0;
    for (const unit of this.#placementOrder.toReversed()) freed += await this.giveUpUnit(unit);
    return freed + (await this.giveUpUnit(fixedPart));
  }

  /**
   * Give up host memory of a unit (-1: the fixed part) that the checkpoint can give again; only of what is on the device.
   * Pinned memory goes through `PinBudget.dropCopy`, which counts it. Resolves with bytes freed.
   */
  async dropHostOf(unit: number): Promise<number> {
    return this.hostBytes > 0 && this.isPlaced(unit) ? this.store.dropHost(unit) : 0;
  }

  /**
   * Resolves when the device has done what was asked of it before: what was disposed of is given back then. Never
   * rejects.
   */
  async settle(): Promise<void> {
    if (this.onHost || this.#disposed) return;
    // Asked for what is so already, the device answers in its turn.
    const asked = this.#fixedPlaced ? this.store.place(fixedPart) : this.store.unplace(fixedPart);
    await asked.catch(() => {});
  }

  /** Throws if what is remembered differs from what the store says is on the device. */
  verify(): void {
    if (this.onHost || this.#disposed || this.#movesInProgress > 0) return;
    for (let unit = fixedPart; unit < this.unitCount; unit++) {
      if (this.store.isPlaced(unit) === this.isPlaced(unit)) continue;
      throw new Error(
        `"${this.id}": ${unit === fixedPart ? 'the fixed part' : `unit ${unit}`} is ${this.isPlaced(unit) ? 'thought' : 'not thought'} to be on ${this.device.name}, and the device says otherwise.`,
      );
    }
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.store.dispose();
    this.#placementOrder = [];
    this.#fixedPlaced = false;
    this.#loadedBytes = 0;
    this.partial = null;
  }

  /** While something moves, device and books may differ for a moment. They agree when `move` has ended. */
  async #moving<T>(move: () => Promise<T>): Promise<T> {
    this.#movesInProgress += 1;
    try {
      return await move();
    } finally {
      this.#movesInProgress -= 1;
    }
  }

  #bytesOf(unit: number): number {
    return unit === fixedPart ? this.fixedBytes : this.unitBytes[unit]!;
  }
}

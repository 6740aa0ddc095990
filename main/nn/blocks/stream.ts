import type { Addon, Device, GraphPlan, State } from '../../../native/addon.ts';
import { GraphBuilder, type GraphOptions } from '../graph.ts';
import type { Module } from '../module.ts';
import { elementsOf, type Shape, sameShape, showShape } from '../shapes.ts';
import type { Tensor } from '../tensor.ts';

/**
 * What causal layers remember from one chunk of a signal to the next, while a graph is recorded. A layer recalls what
 * it kept before (zeros at the signal's beginning), and keeps what the next chunk will need:
 *
 *     const before = stream.recall(g, this, 'rows', [2, channels]);
 *     const table = before.concat(x, 0);
 *     stream.keep(this, 'rows', table.narrow(0, table.size(0) - 2, 2));
 *
 * One graph may take a layer through several pieces of a chunk, one after the other: each sees what the piece before
 * it kept.
 */
export interface Stream {
  /** The chunk begins the signal. */
  readonly first: boolean;
  /** The chunk ends the signal: lengths need not be whole strides. */
  readonly last: boolean;
  recall(g: GraphBuilder, owner: Module, part: string, shape: Shape): Tensor;
  keep(owner: Module, part: string, value: Tensor): void;
  /** Nothing was kept yet, by an earlier chunk or an earlier piece. */
  begins(owner: Module, part: string): boolean;
}

export interface ChunkPlace {
  first?: boolean;
  last?: boolean;
}

/** Records a chunk: gets inputs and outputs from `g`, and the memory of its layers from `stream`. */
export type RecordChunk = (g: GraphBuilder, stream: Stream) => void;

interface Slot {
  owner: Module;
  part: string;
  shape: Shape;
}

/** Which layers keep what: the same for all chunks of a network, whatever their length. */
export class StreamLayout {
  readonly #slots: Slot[] = [];
  readonly #indices = new Map<Module, Map<string, number>>();

  /** @param record any chunk that is neither first nor last. */
  constructor(addon: Addon, record: RecordChunk) {
    const g = new GraphBuilder(addon);
    record(g, new Recording(this, null, {}, (slot) => this.#add(slot)));
  }

  get slots(): readonly Slot[] {
    return this.#slots;
  }

  indexOf(owner: Module, part: string): number | null {
    return this.#indices.get(owner)?.get(part) ?? null;
  }

  /** Bytes of a state, without the device's padding. */
  bytes(addon: Addon): number {
    return this.#slots.reduce((sum, { shape }) => sum + addon.tensorBytes('f32', [...shape]), 0);
  }

  /** Sizes of a chunk's graph without the state. Nothing is allocated. */
  plan(
    addon: Addon,
    device: Device,
    record: RecordChunk,
    place: ChunkPlace = {},
    options: GraphOptions = {},
  ): Pick<GraphPlan, 'computeBytes' | 'ioBytes'> {
    const g = new GraphBuilder(addon, options);
    const recording = new Recording(this, null, place, null);
    record(g, recording);
    const standIns = recording.store(g);
    const { computeBytes, ioBytes } = g.plan(device);
    return { computeBytes, ioBytes: ioBytes - standIns };
  }

  #add(slot: Slot): number {
    const index = this.#slots.push(slot) - 1;
    const parts = this.#indices.get(slot.owner) ?? new Map<string, number>();
    this.#indices.set(slot.owner, parts.set(slot.part, index));
    return index;
  }
}

/** What one signal has left behind in the layers of a network, on a device. */
export class StreamState {
  readonly layout: StreamLayout;
  /** Null where nothing is kept. */
  readonly #state: State | null;

  private constructor(layout: StreamLayout, state: State | null) {
    this.layout = layout;
    this.#state = state;
  }

  /** @throws NativeError `OutOfDeviceMemory` */
  static async create(device: Device, layout: StreamLayout): Promise<StreamState> {
    const specs = layout.slots.map(({ shape }) => ({ dtype: 'f32' as const, shape: [...shape] }));
    return new StreamState(layout, specs.length === 0 ? null : await device.createState(specs));
  }

  get bytes(): number {
    return this.#state?.bytes ?? 0;
  }

  /** Records a chunk that continues this signal. The graph belongs to this state. */
  record(g: GraphBuilder, record: RecordChunk, place: ChunkPlace = {}): void {
    const recording = new Recording(this.layout, this.#state, place, null);
    record(g, recording);
    recording.store(g);
  }

  /** Forgets the signal. */
  async clear(): Promise<void> {
    await this.#state?.clear();
  }

  dispose(): void {
    this.#state?.dispose();
  }
}

class Recording implements Stream {
  readonly first: boolean;
  readonly last: boolean;
  readonly #layout: StreamLayout;
  readonly #state: State | null;
  readonly #declare: ((slot: Slot) => number) | null;
  readonly #kept = new Map<number, Tensor>();
  readonly #recalled = new Map<number, Tensor>();

  constructor(
    layout: StreamLayout,
    state: State | null,
    { first = false, last = false }: ChunkPlace,
    declare: ((slot: Slot) => number) | null,
  ) {
    this.#layout = layout;
    this.#state = state;
    this.first = first;
    this.last = last;
    this.#declare = declare;
  }

  begins(owner: Module, part: string): boolean {
    const index = this.#layout.indexOf(owner, part);
    return this.first && (index === null || !this.#kept.has(index));
  }

  recall(g: GraphBuilder, owner: Module, part: string, shape: Shape): Tensor {
    const index = this.#layout.indexOf(owner, part) ?? this.#declare?.({ owner, part, shape }) ?? -1;
    const slot = this.#slot(index, owner, part, shape);
    const kept = this.#kept.get(index) ?? this.#recalled.get(index);
    if (kept !== undefined) return kept;
    const value =
      this.#state === null
        ? g.input(`kept ${index}`, 'f32', slot.shape)
        : g.state(this.#state, index, 'f32', slot.shape);
    this.#recalled.set(index, value);
    return value;
  }

  keep(owner: Module, part: string, value: Tensor): void {
    const index = this.#layout.indexOf(owner, part) ?? -1;
    this.#slot(index, owner, part, value.shape);
    this.#kept.set(index, value);
  }

  /**
   * After the last piece: what was kept goes to the state, once. In a plan inputs and outputs stand for the state.
   *
   * @returns bytes of what stands for it
   */
  store(g: GraphBuilder): number {
    let bytes = 0;
    for (const [index, value] of this.#kept) {
      const { shape } = this.#layout.slots[index]!;
      if (this.#state !== null) {
        value.record('cpy', [value, g.state(this.#state, index, 'f32', shape)], [], shape);
      } else {
        g.output(`kept ${index}`, value);
        bytes += 4 * elementsOf(shape);
      }
    }
    for (const value of this.#recalled.values()) if (this.#state === null) bytes += 4 * value.elements;
    return bytes;
  }

  #slot(index: number, owner: Module, part: string, shape: Shape): Slot {
    const slot = this.#layout.slots[index];
    if (slot === undefined) {
      throw new Error(`${owner.constructor.name} keeps "${part}", which the layout was not told of.`);
    }
    if (!sameShape(slot.shape, shape)) {
      throw new RangeError(
        `${owner.constructor.name} keeps "${part}" as ${showShape(slot.shape)}, not ${showShape(shape)}.`,
      );
    }
    return slot;
  }
}

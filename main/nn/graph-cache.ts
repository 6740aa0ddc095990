import type { Addon, Arena, Device, GraphPlan } from '../../native/addon.ts';
import { type CompiledGraph, GraphBuilder, type GraphOptions } from './graph.ts';

export interface GraphCacheOptions extends GraphOptions {
  /** Graphs kept at once. Default: 64. */
  maxGraphs?: number;
  /** Bytes of inputs, outputs and constants kept at once; scratch memory is shared and counts once. Default: 256 MiB. */
  maxBytes?: number;
  /** Scratch memory shared with other caches of the device; default: its own. */
  arena?: Arena;
}

interface Entry {
  graph: CompiledGraph;
  bytes: number;
  /** Runs in progress: a graph in use is never disposed of. */
  users: number;
  dropped: boolean;
}

/**
 * Compiled graphs of one device, one per key, the least recently used dropped first. All of them share one arena,
 * so they run one after the other, and scratch memory is that of the largest.
 *
 * A key names everything that the recording depends on: module, shapes, options, a cache's capacity.
 */
export class GraphCache {
  readonly device: Device;
  readonly #addon: Addon;
  readonly #arena: Arena;
  readonly #ownsArena: boolean;
  readonly #graphOptions: GraphOptions;
  readonly #maxGraphs: number;
  readonly #maxBytes: number;
  /** In the order of last use. */
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(addon: Addon, device: Device, options: GraphCacheOptions = {}) {
    this.device = device;
    this.#addon = addon;
    this.#arena = options.arena ?? device.createArena();
    this.#ownsArena = options.arena === undefined;
    this.#graphOptions = options;
    this.#maxGraphs = options.maxGraphs ?? 64;
    this.#maxBytes = options.maxBytes ?? 256 * 2 ** 20;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Bytes of inputs, outputs and constants of the graphs kept. */
  get ioBytes(): number {
    return [...this.#entries.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get scratchBytes(): number {
    return this.#arena.bytes;
  }

  /** Sizes that `use` would need, without allocating; free where the graph is kept. */
  plan(key: string, record: (g: GraphBuilder) => void): GraphPlan {
    const known = this.#entries.get(key);
    if (known !== undefined) return known.graph.plan;
    const g = new GraphBuilder(this.#addon, this.#graphOptions);
    record(g);
    return g.plan(this.device);
  }

  /**
   * Runs `body` with the graph of `key`, recorded if it is not kept. Calls wait for each other. `body` must not
   * call `use` of the same cache: it would wait for itself.
   *
   * @throws NativeError `OutOfDeviceMemory`, and whatever `record` or `body` throws
   */
  async use<T>(
    key: string,
    record: (g: GraphBuilder) => void,
    body: (graph: CompiledGraph) => Promise<T>,
  ): Promise<T> {
    const turn = this.#last.then(() => this.#run(key, record, body));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(
    key: string,
    record: (g: GraphBuilder) => void,
    body: (graph: CompiledGraph) => Promise<T>,
  ): Promise<T> {
    const entry = this.#entries.get(key) ?? this.#compile(record);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#evict(entry);
    entry.users += 1;
    try {
      return await body(entry.graph);
    } finally {
      entry.users -= 1;
      if (entry.dropped) entry.graph.dispose();
    }
  }

  /** Drops the graphs whose key begins with `prefix`; '' drops all. */
  drop(prefix = ''): void {
    for (const [key, entry] of this.#entries) if (key.startsWith(prefix)) this.#drop(key, entry);
  }

  /** Gives scratch memory back until the next run. */
  async trim(): Promise<void> {
    await this.#last;
    await this.#arena.trim();
  }

  async dispose(): Promise<void> {
    await this.#last;
    this.drop();
    if (this.#ownsArena) this.#arena.dispose();
  }

  #compile(record: (g: GraphBuilder) => void): Entry {
    const g = new GraphBuilder(this.#addon, this.#graphOptions);
    record(g);
    const graph = g.compile(this.device, this.#arena);
    return { graph, bytes: graph.plan.ioBytes, users: 0, dropped: false };
  }

  #evict(keep: Entry): void {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= this.#maxGraphs && this.ioBytes <= this.#maxBytes) return;
      if (entry !== keep) this.#drop(key, entry);
    }
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    entry.dropped = true;
    if (entry.users === 0) entry.graph.dispose();
  }
}

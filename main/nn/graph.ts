import type {
  Addon,
  Arena,
  CancelToken,
  Device,
  DType,
  Graph,
  GraphPlan,
  GraphRecorder,
  State,
  TensorData,
  WeightStore,
} from '../../native/addon.ts';
import type { Parameter } from './parameter.ts';
import { elementsOf, type Shape, showShape } from './shapes.ts';
import { Tensor } from './tensor.ts';

export interface GraphOptions {
  /**
   * Widen half-precision matrices to float32 where they are read. The processor's matrix products otherwise round
   * activations to the type of the weights. Weights keep their size on the device; scratch memory grows by the
   * widest matrix.
   */
  widenWeights?: boolean;
}

/**
 * Records one graph: inputs, weights, operations and outputs, each input and output by name. Used up by `compile`.
 *
 *     const g = new GraphBuilder(addon);
 *     g.output('logits', model.forward(g, g.input('x', 'f32', [1, 80, frames])));
 *     const graph = g.compile(device, arena);
 *     const { logits } = await graph.run({ x });
 */
export class GraphBuilder {
  readonly recorder: GraphRecorder;
  readonly #inputs = new Map<string, Tensor>();
  readonly #outputs = new Map<string, Tensor>();
  readonly #weights = new Map<Parameter, Tensor>();
  readonly #constants = new Map<string, Tensor>();
  readonly #widenWeights: boolean;
  #unit: { store: WeightStore; unit: number } | null = null;

  constructor(addon: Addon, options: GraphOptions = {}) {
    this.recorder = addon.createRecorder();
    this.#widenWeights = options.widenWeights ?? false;
  }

  /** A value given at each run. */
  input(name: string, dtype: DType, shape: Shape): Tensor {
    if (this.#inputs.has(name)) throw new Error(`The graph already has an input "${name}".`);
    const tensor = Tensor.from(this.recorder, this.recorder.input(dtype, [...shape]), shape, dtype);
    this.#inputs.set(name, tensor);
    return tensor;
  }

  /** A parameter as a value; shape as stored on the device (`Parameter.storedShape`). */
  weight(parameter: Parameter): Tensor {
    const stored = this.#weights.get(parameter) ?? this.#leaf(parameter);
    this.#weights.set(parameter, stored);
    const half = stored.dtype === 'f16' || stored.dtype === 'bf16';
    // Anew at each use: a copy kept until the next one would hold on to scratch memory.
    return this.#widenWeights && half && parameter.readBy === 'matmul' ? stored.cast('f32') : stored;
  }

  #leaf(parameter: Parameter): Tensor {
    const { store, path, dtype } = parameter;
    if (store === null || dtype === null) {
      throw new Error(
        `A parameter of shape ${showShape(parameter.shape)} has no weights yet: load them (loadWeights) before building a graph.`,
      );
    }
    return Tensor.from(this.recorder, this.recorder.weight(store, path), parameter.storedShape, dtype);
  }

  /** A persistent tensor of the device, such as a KV cache. */
  state(state: State, index: number, dtype: DType, shape: Shape): Tensor {
    return Tensor.from(this.recorder, this.recorder.state(state, index), shape, dtype);
  }

  /** A small table known while recording; the same `key` is recorded once. */
  constant(key: string, dtype: DType, shape: Shape, make: () => TensorData): Tensor {
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const data = make();
    if (!(data instanceof Uint8Array) && data.length !== elementsOf(shape)) {
      throw new RangeError(`Constant "${key}" has ${data.length} values for shape ${showShape(shape)}.`);
    }
    const tensor = Tensor.from(this.recorder, this.recorder.constant(dtype, [...shape], data), shape, dtype);
    this.#constants.set(key, tensor);
    return tensor;
  }

  /** A value to read back after each run; arrives in the order of its shape. */
  output(name: string, tensor: Tensor): void {
    if (this.#outputs.has(name)) throw new Error(`The graph already has an output "${name}".`);
    const value = tensor.contiguous();
    this.recorder.output(value.handle);
    this.#outputs.set(name, value);
  }

  /**
   * Nodes recorded by `body` read this unit's weights. Within one store the outermost unit wins; a unit of another
   * store takes over for its own time.
   */
  withUnit<T>(store: WeightStore, unit: number, body: () => T): T {
    const outer = this.#unit;
    if (outer !== null && outer.store === store) return body();
    this.#setUnit({ store, unit });
    try {
      return body();
    } finally {
      this.#setUnit(outer);
    }
  }

  #setUnit(unit: { store: WeightStore; unit: number } | null): void {
    this.#unit = unit;
    this.recorder.setUnit(unit?.store ?? null, unit?.unit ?? -1);
  }

  /** Sizes of the graph on a device; nothing is allocated. */
  plan(device: Device): GraphPlan {
    return this.recorder.plan(device);
  }

  compile(device: Device, arena: Arena): CompiledGraph {
    return new CompiledGraph(this.recorder.compile(device, arena), this.#inputs, this.#outputs);
  }
}

export interface RunGraphOptions {
  signal?: CancelToken;
  /** Finished segments, all segments. */
  onProgress?: (done: number, total: number) => void;
  /** Names of the outputs to read back; absent: all. */
  read?: readonly string[];
}

/** A graph ready to run again and again, with inputs and outputs by name. */
export class CompiledGraph {
  readonly #graph: Graph;
  readonly #inputs: ReadonlyMap<string, Tensor>;
  readonly #outputs: ReadonlyMap<string, Tensor>;

  constructor(graph: Graph, inputs: ReadonlyMap<string, Tensor>, outputs: ReadonlyMap<string, Tensor>) {
    this.#graph = graph;
    this.#inputs = inputs;
    this.#outputs = outputs;
  }

  get plan(): GraphPlan {
    return this.#graph.plan;
  }

  outputShape(name: string): Shape {
    return this.#output(name).shape;
  }

  /** An input that is absent keeps its last value. */
  async run(
    inputs: Readonly<Record<string, TensorData>>,
    options: RunGraphOptions = {},
  ): Promise<Record<string, TensorData>> {
    const values = Object.entries(inputs).map(([name, data]): [number, TensorData] => {
      const input = this.#inputs.get(name);
      if (input === undefined)
        throw new Error(`The graph has no input "${name}"; it has ${list(this.#inputs)}.`);
      if (!(data instanceof Uint8Array) && data.length !== input.elements) {
        throw new RangeError(
          `Input "${name}" of shape ${showShape(input.shape)} takes ${input.elements} values; ${data.length} were given.`,
        );
      }
      return [input.handle, data];
    });
    const names = options.read ?? [...this.#outputs.keys()];
    const read = names.map((name) => this.#output(name).handle);
    const results = await this.#graph.run({
      inputs: values,
      read,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    });
    return Object.fromEntries(names.map((name, index) => [name, results[index]!]));
  }

  /** One float32 output. */
  async runFloat32(
    inputs: Readonly<Record<string, TensorData>>,
    name: string,
    options: Omit<RunGraphOptions, 'read'> = {},
  ): Promise<Float32Array> {
    const data = (await this.run(inputs, { ...options, read: [name] }))[name];
    if (!(data instanceof Float32Array)) throw new TypeError(`Output "${name}" is no float32 tensor.`);
    return data;
  }

  dispose(): void {
    this.#graph.dispose();
  }

  #output(name: string): Tensor {
    const output = this.#outputs.get(name);
    if (output === undefined)
      throw new Error(`The graph has no output "${name}"; it has ${list(this.#outputs)}.`);
    return output;
  }
}

function list(map: ReadonlyMap<string, Tensor>): string {
  return [...map.keys()].map((name) => `"${name}"`).join(', ') || 'none';
}

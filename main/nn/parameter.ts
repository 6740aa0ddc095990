import type { DType, TensorData, WeightStore } from '../../native/addon.ts';

/**
 * How a layer reads a weight, which decides the types it may have on a device:
 * - `matmul`: the first operand of a matrix product; any type that the device multiplies, quantised ones included;
 * - `rows`: looked up by index; any type that the device can gather;
 * - `elementwise`: added, multiplied or convolved per channel; float32, because ggml's elementwise operations read
 *   float32 beside float32 activations. These are vectors, a fraction of a percent of a model's bytes;
 * - `index`: int32 positions in another tensor.
 */
export type ReadBy = 'matmul' | 'rows' | 'elementwise' | 'index';

/** Values for a parameter that no checkpoint holds (random weights in tests). */
export type Initialiser = 'normal' | 'ones' | 'zeros';

export interface ParameterOptions {
  /** Default: `elementwise` for vectors, `matmul` for everything else. */
  readBy?: ReadBy;
  /** May move to the device just before its module's forward. Default: false. */
  streamable?: boolean;
  /**
   * Arrangement on the device: the checkpoint's dimensions in this order. `[1, 2, 0]` stores `[in, out, kernel]` as
   * `[out, kernel, in]`. Default: as in the checkpoint.
   */
  storedOrder?: readonly number[];
  /** Value when the checkpoint lacks it: constant tables that upstream registers without saving them. */
  value?: TensorData;
  /** Default: `normal`, or `zeros` for a vector. */
  init?: Initialiser;
}

/**
 * A weight of a module: its shape in the checkpoint (PyTorch order) and how it is read. It holds no data; `store`
 * does, once `loadWeights` or `attachWeights` has bound it.
 */
export class Parameter {
  readonly shape: readonly number[];
  readonly readBy: ReadBy;
  readonly streamable: boolean;
  readonly storedOrder: readonly number[] | null;
  readonly value: TensorData | null;
  readonly init: Initialiser;
  /** Name in the weight store; empty until bound. */
  path = '';
  /** Null until bound. */
  store: WeightStore | null = null;
  /** Type on the device; null until bound. */
  dtype: DType | null = null;

  constructor(shape: readonly number[], options: ParameterOptions = {}) {
    if (shape.length > 4 || shape.some((size) => !Number.isSafeInteger(size) || size < 1)) {
      throw new RangeError(
        `A parameter has 0 to 4 dimensions of positive whole size; this one has [${shape.join(', ')}].`,
      );
    }
    this.shape = [...shape];
    this.readBy = options.readBy ?? (shape.length <= 1 ? 'elementwise' : 'matmul');
    this.streamable = options.streamable ?? false;
    this.storedOrder = options.storedOrder ?? null;
    this.value = options.value ?? null;
    this.init = options.init ?? (shape.length <= 1 ? 'zeros' : 'normal');
  }

  get elements(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  /** Shape on the device. */
  get storedShape(): number[] {
    return this.storedOrder === null ? [...this.shape] : this.storedOrder.map((axis) => this.shape[axis]!);
  }
}

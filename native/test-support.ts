/** What the tests of the addon share: devices, one-operation graphs, a small network in units. */
import type { Addon, Device, DType, GraphRecorder, NativeError, TensorData, WeightStore } from './addon.ts';
import { loadAddon } from './load.ts';

// ggml passes over Vulkan devices that run on the CPU unless they are named before it starts.
process.env.GGML_VK_VISIBLE_DEVICES ??= '0';

export const addon: Addon = loadAddon();

/** Name of the first Vulkan device, or null. */
export const vulkanName: string | null =
  addon.devices().find((device) => device.name.startsWith('Vulkan'))?.name ?? null;

/** Without a Vulkan device its tests say that they did not run; where one is promised, that is a failure. */
export const vulkanRequired = process.env.MIZUOTO_REQUIRE_VULKAN === '1';
export const absentVulkan =
  'No Vulkan device is here: install mesa-vulkan-drivers and libvulkan1 for the software one.';

export interface Feed {
  dtype?: DType;
  shape: number[];
  data: TensorData;
}

export const f32 = (shape: number[], values: number[]): Feed => ({ shape, data: Float32Array.from(values) });
export const i32 = (shape: number[], values: number[]): Feed => ({
  dtype: 'i32',
  shape,
  data: Int32Array.from(values),
});

export interface Computed {
  shape: number[];
  dtype: DType;
  values: number[];
  data: TensorData;
}

/** Runs what `build` records on the given inputs; everything it took is given back. */
export async function compute(
  device: Device,
  feeds: Feed[],
  build: (recorder: GraphRecorder, inputs: number[]) => number,
): Promise<Computed> {
  const recorder = addon.createRecorder();
  const handles = feeds.map((feed) => recorder.input(feed.dtype ?? 'f32', feed.shape));
  const result = build(recorder, handles);
  recorder.output(result);
  const shape = recorder.shape(result);
  const dtype = recorder.dtype(result);
  const arena = device.createArena();
  const graph = recorder.compile(device, arena);
  try {
    const inputs = feeds.map((feed, i): [number, TensorData] => [handles[i]!, feed.data]);
    const [data] = await graph.run({ inputs });
    return { shape, dtype, data: data!, values: Array.from(data as Iterable<number>, Number) };
  } finally {
    graph.dispose();
    arena.dispose();
  }
}

/** One operation. */
export const computeOp = (device: Device, name: string, feeds: Feed[], params: number[] = []) =>
  compute(device, feeds, (recorder, inputs) => recorder.op(name, inputs, params));

/** What a call throws, or a promise rejects with; fails when it does neither. */
export async function failure(action: () => unknown): Promise<NativeError> {
  try {
    await action();
  } catch (error) {
    return error as NativeError;
  }
  throw new Error('Nothing was thrown.');
}

export const failureCode = async (action: () => unknown) => (await failure(action)).code;

export const bytesOf = (data: TensorData) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Deterministic values in (-1, 1). */
export function noise(length: number, seed: number): Float32Array {
  const values = new Float32Array(length);
  let state = (seed * 2654435761 + 12345) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = state / 2 ** 31 - 1;
  }
  return values;
}

export interface Stack {
  store: WeightStore;
  width: number;
  blocks: number;
  input: Float32Array;
  /** Records the network: `[rows, width] -> [rows, width]`. */
  record(recorder: GraphRecorder): { input: number; output: number };
}

/**
 * `blocks` residual blocks of rms_norm, linear, gelu, linear: each block's matrices are a unit, norms are fixed.
 * Borders between blocks are where GPU backends like to fuse (add followed by rms_norm).
 */
export function makeStack(options: { blocks: number; width: number; rows: number; dtype?: DType }): Stack {
  const { blocks, width, rows, dtype = 'f32' } = options;
  const weights = [];
  for (let block = 0; block < blocks; block++) {
    for (const [i, name] of ['up', 'down'].entries()) {
      const values = noise(width * width, block * 2 + i + 1).map((value) => value / Math.sqrt(width));
      weights.push({
        name: `blocks.${block}.${name}.weight`,
        shape: [width, width],
        dtype,
        unit: block,
        source: { data: dtype === 'f16' ? toHalf(values) : values },
      });
    }
    weights.push({
      name: `blocks.${block}.norm.weight`,
      shape: [width],
      dtype: 'f32' as const,
      unit: -1,
      source: { data: noise(width, 1000 + block).map((value) => 1 + value / 10) },
    });
  }
  const store = addon.createWeightStore('stack', weights);
  const record = (recorder: GraphRecorder) => {
    const input = recorder.input('f32', [rows, width]);
    let x = input;
    for (let block = 0; block < blocks; block++) {
      recorder.setUnit(store, block);
      let y = recorder.op('rms_norm', [x], [1e-5]);
      y = recorder.op('mul', [y, recorder.weight(store, `blocks.${block}.norm.weight`)]);
      y = recorder.op('mul_mat', [recorder.weight(store, `blocks.${block}.up.weight`), y]);
      y = recorder.op('gelu_erf', [y]);
      y = recorder.op('mul_mat', [recorder.weight(store, `blocks.${block}.down.weight`), y]);
      x = recorder.op('add', [x, y]);
      recorder.setUnit(null, 0);
    }
    recorder.output(x);
    return { input, output: x };
  };
  return { store, width, blocks, input: noise(rows * width, 77), record };
}

/** Nearest float16 (ties to even) of values in the normal range, as bytes; smaller ones become 0. */
export function toHalf(values: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    view.setFloat32(0, values[i]!);
    const bits = view.getUint32(0);
    const exponent = ((bits >>> 23) & 0xff) - 112;
    if (exponent <= 0) continue;
    const whole = (exponent << 10) | ((bits >>> 13) & 0x3ff);
    const rest = bits & 0x1fff;
    const up = rest > 0x1000 || (rest === 0x1000 && (whole & 1) === 1);
    const rounded = whole + (up ? 1 : 0);
    halves[i] = ((bits >>> 16) & 0x8000) | rounded;
  }
  return new Uint8Array(halves.buffer);
}

export async function placeAll(store: WeightStore): Promise<void> {
  for (let unit = -1; unit < store.unitCount; unit++) await store.place(unit);
}

export async function unplaceUnits(store: WeightStore): Promise<void> {
  for (let unit = 0; unit < store.unitCount; unit++) await store.unplace(unit);
}

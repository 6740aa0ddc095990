import type { Addon, Device, DeviceInfo, Graph, StreamerStats } from '../../../native/addon.ts';
import type { SelfTest } from '../../contract/doctor.ts';
import type { ErrorBody } from '../../contract/errors.ts';
import { MiB } from '../../memory/policy.ts';
import { Random } from '../../nn/random.ts';
import { compareSamples } from './compare.ts';

/** Half precision inside a product of 1024 terms stays far below this; a wrong answer far above. */
const tolerance = 0.02;
const width = 1024;
const units = 4;
const rows = 2;

/** What it is about to do: where a driver crashes, the last one said is where. */
export type SelfTestStep = 'opening' | 'placing' | 'computing' | 'streaming' | 'closing';

/**
 * Four products of known matrices (16 MiB), each a unit: once with all of them placed, once streamed through two slots.
 * The answer is known in double precision. Never rejects.
 */
export async function selfTest(
  addon: Addon,
  { name }: DeviceInfo,
  toErrorBody: (error: unknown) => ErrorBody,
  onStep: (step: SelfTestStep) => void = () => {},
): Promise<SelfTest> {
  const start = performance.now();
  try {
    onStep('opening');
    const device = await addon.openDevice({ name });
    try {
      const result = await testDevice(addon, device, onStep);
      const capabilities = capabilitiesOf(device);
      return { device: name, ...result, capabilities, seconds: secondsSince(start), error: null };
    } finally {
      onStep('closing');
      await device.close();
    }
  } catch (error) {
    return failedSelfTest(name, toErrorBody(error), secondsSince(start));
  }
}

/** Of a device that could not even be asked. */
export function failedSelfTest(device: string, error: ErrorBody, seconds: number): SelfTest {
  const nothing = { largest_difference: null, identical: null, copy_mb_per_second: null, capabilities: null };
  return { device, passed: false, ...nothing, seconds, error };
}

/** Types that weights may have on a device beside float32. */
const narrowTypes = ['f16', 'bf16', 'q8_0', 'q4_0'] as const;

function capabilitiesOf(device: Device): NonNullable<SelfTest['capabilities']> {
  const { caps } = device.info();
  return {
    async: caps.async,
    host_buffers: caps.hostBuffer,
    host_pointer: device.isHost ? caps.bufferFromHostPtr : device.mapsHostMemory,
    events: caps.events,
    dtypes: ['f32', ...narrowTypes.filter((dtype) => device.supportsDType(dtype))],
  };
}

async function testDevice(
  addon: Addon,
  device: Device,
  onStep: (step: SelfTestStep) => void,
): Promise<Omit<SelfTest, 'device' | 'seconds' | 'error' | 'capabilities'>> {
  const matrices = Array.from({ length: units }, (_, unit) =>
    new Random(11)
      .fork(`matrix ${unit}`)
      .fillNormal(new Float32Array(width * width), 0, 1 / Math.sqrt(width)),
  );
  const input = new Random(12).fillNormal(new Float32Array(rows * width));
  const store = addon.createWeightStore(
    'self-test',
    matrices.map((data, unit) => ({
      name: `matrix ${unit}`,
      shape: [width, width],
      dtype: 'f32' as const,
      unit,
      source: { data },
    })),
  );
  const arena = device.createArena();
  let graph: Graph | null = null;
  try {
    store.bind(device);
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [rows, width]);
    let y = x;
    for (let unit = 0; unit < units; unit++) {
      recorder.setUnit(store, unit);
      y = recorder.op('mul_mat', [recorder.weight(store, `matrix ${unit}`), y]);
    }
    recorder.setUnit(null, -1);
    recorder.output(y);
    graph = recorder.compile(device, arena);
    const run = async (): Promise<Float32Array> =>
      (await graph!.run({ inputs: [[x, input]] }))[0] as Float32Array;
    onStep('placing');
    for (let unit = 0; unit < units; unit++) await store.place(unit);
    onStep('computing');
    const placed = await run();
    const largest = relativeDifference(placed, product(matrices, input));
    if (device.isHost) {
      return {
        passed: largest <= tolerance,
        largest_difference: largest,
        identical: null,
        copy_mb_per_second: null,
      };
    }
    onStep('streaming');
    for (let unit = 0; unit < units; unit++) await store.unplace(unit);
    await device.setStreamer({ slots: 2, slotBytes: store.unitBytes(0), prefetch: true });
    const streamed = await run();
    const { identical } = compareSamples(streamed, placed);
    return {
      passed: identical && largest <= tolerance,
      largest_difference: largest,
      identical,
      copy_mb_per_second: copyRate(device.streamerStats()),
    };
  } finally {
    graph?.dispose();
    arena.dispose();
    await store.dispose();
    await device.setStreamer(null);
  }
}

/** `x · Wᵀ` through all matrices, in double precision: `[rows, width]`. */
function product(matrices: readonly Float32Array[], input: Float32Array): Float64Array {
  let x = Float64Array.from(input);
  for (const matrix of matrices) {
    const y = new Float64Array(rows * width);
    for (let row = 0; row < rows; row++) {
      for (let out = 0; out < width; out++) {
        let sum = 0;
        for (let at = 0; at < width; at++) sum += matrix[out * width + at]! * x[row * width + at]!;
        y[row * width + out] = sum;
      }
    }
    x = y;
  }
  return x;
}

/** Infinite where a value is no number. */
function relativeDifference(values: Float32Array, expected: Float64Array): number {
  let largest = 0;
  let scale = 0;
  for (let at = 0; at < expected.length; at++) {
    const distance = Math.abs(values[at]! - expected[at]!);
    largest = Math.max(largest, Number.isNaN(distance) ? Number.MAX_VALUE : distance);
    scale = Math.max(scale, Math.abs(expected[at]!));
  }
  return Math.min(Number.MAX_VALUE, largest / scale);
}

function copyRate({ streamedBytes, copySeconds }: StreamerStats): number | null {
  return copySeconds > 0 ? streamedBytes / MiB / copySeconds : null;
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

/** A component of three blocks for tests of page-locked memory: of each, weights of every kind of source. */
import type { CancelToken, Checkpoint, Device, WeightSpec, WeightStore } from './addon.ts';
import { rawBytes, type StoredTensor, writeSafetensors } from './test-checkpoints.ts';
import { addon, bytesOf, noise, toHalf } from './test-support.ts';

/** Matrices of more than a megabyte in any type: smaller ones are not locked where they lie. */
export const width = 776;
export const blocks = 3;
export const elements = width * width;
export const matrix = (seed: number) => noise(elements, seed).map((value) => value / Math.sqrt(width));

/** Each block: a matrix as the file has it, one that is converted, and one that lies in no file. */
function tensors(): StoredTensor[] {
  const shape = [width, width];
  return Array.from({ length: blocks }, (_, block): StoredTensor[] => [
    { name: `${block}.kept`, dtype: 'F32', shape, bytes: rawBytes(matrix(3 * block)) },
    { name: `${block}.converted`, dtype: 'F16', shape, bytes: toHalf(matrix(3 * block + 1)) },
  ]).flat();
}

export async function openBlocks(path: string): Promise<Checkpoint> {
  writeSafetensors(path, tensors(), 8);
  return addon.openCheckpoint([path]);
}

export const names = ['kept', 'converted', 'made'];

export function storeOf(checkpoint: Checkpoint, component = 'blocks'): WeightStore {
  const specs: WeightSpec[] = [];
  for (let unit = 0; unit < blocks; unit++) {
    for (const name of names) {
      const source =
        name === 'made' ? { data: matrix(3 * unit + 2) } : { checkpoint, tensor: `${unit}.${name}` };
      specs.push({ name: `${unit}.${name}`, shape: [width, width], dtype: 'f32', unit, source });
    }
  }
  return addon.createWeightStore(component, specs);
}

const input = noise(2 * width, 7);

/** Runs all blocks on the same input; resolves with the output's bytes. */
export function compile(device: Device, store: WeightStore) {
  const recorder = addon.createRecorder();
  const first = recorder.input('f32', [2, width]);
  let x = first;
  for (let block = 0; block < blocks; block++) {
    recorder.setUnit(store, block);
    for (const name of names) x = recorder.op('mul_mat', [recorder.weight(store, `${block}.${name}`), x]);
    recorder.setUnit(null, 0);
  }
  recorder.output(x);
  const graph = recorder.compile(device, device.createArena());
  return async (cancel?: CancelToken) =>
    bytesOf((await graph.run({ inputs: [[first, input]], signal: cancel }))[0]!);
}

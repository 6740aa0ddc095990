import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Checkpoint, CheckpointTensor } from '../../native/addon.ts';
import { checkFinite } from './finite.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'finite-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A checkpoint that counts what is looked at; tensors named `bad...` hold something else than numbers. */
function watched(name: string): { checkpoint: Checkpoint; asked: string[]; most: () => number } {
  const file = path.join(folder, name);
  writeFileSync(file, 'weights');
  const asked: string[] = [];
  let [running, most] = [0, 0];
  const firstNonFinite = async (tensor: string): Promise<number | null> => {
    asked.push(tensor);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return tensor.startsWith('bad') ? 7 : null;
  };
  return { checkpoint: { files: [file], firstNonFinite } as unknown as Checkpoint, asked, most: () => most };
}

const tensor = (name: string, dtype: CheckpointTensor['dtype'] = 'f32'): CheckpointTensor => ({
  ...{ name, dtype, shape: [2], bytes: 8, file: 0 },
});

it('looks at each tensor once as long as the file stays as it is', async () => {
  const { checkpoint, asked } = watched('once');
  await checkFinite(checkpoint, [tensor('a'), tensor('b'), tensor('c', 'other')]);
  await checkFinite(checkpoint, [tensor('b'), tensor('d')]);
  expect(asked).toEqual(['a', 'b', 'd']);
  utimesSync(checkpoint.files[0]!, 1, 1);
  await checkFinite(checkpoint, [tensor('a')]);
  expect(asked).toEqual(['a', 'b', 'd', 'a']);
});

it('looks again at a file whose time of writing was set back', async () => {
  const { checkpoint, asked } = watched('set back');
  const file = checkpoint.files[0]!;
  utimesSync(file, 5, 5);
  await checkFinite(checkpoint, [tensor('a')]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(file, 'changed');
  utimesSync(file, 5, 5);
  await checkFinite(checkpoint, [tensor('a')]);
  expect(asked).toEqual(['a', 'a']);
});

it('names the first damaged tensor, each time', async () => {
  const { checkpoint } = watched('damaged');
  const tensors = ['a', 'bad 1', 'b', 'bad 2'].map((name) => tensor(name));
  for (let time = 0; time < 2; time++) {
    await expect(checkFinite(checkpoint, tensors)).rejects.toMatchObject({
      code: 'weights_not_finite',
      params: { tensor: 'bad 1', element: 7 },
    });
  }
});

it('asks for a few at a time', async () => {
  const { checkpoint, asked, most } = watched('many');
  const names = Array.from({ length: 50 }, (_, n) => `t${n}`);
  await checkFinite(
    checkpoint,
    names.map((name) => tensor(name)),
  );
  expect([...asked].sort()).toEqual([...names].sort());
  expect(most()).toBe(4);
});

it('looks again at files that are gone meanwhile', async () => {
  const { checkpoint, asked } = watched('gone');
  rmSync(checkpoint.files[0]!);
  for (let time = 0; time < 2; time++) await checkFinite(checkpoint, [tensor('a')]);
  expect(asked).toEqual(['a', 'a']);
});

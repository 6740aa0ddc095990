import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from './addon.ts';
import { type OpCase, opCases, x23 } from './op-cases.ts';
import {
  absentVulkan,
  addon,
  bytesOf,
  compute,
  computeOp,
  f32,
  vulkanName,
  vulkanRequired,
} from './test-support.ts';

const label = ({ op, feeds, params }: OpCase) =>
  `${op}(${feeds.map((feed) => `[${feed.shape}]`).join(', ')}${params ? `; ${params}` : ''})`;

function expectValues(actual: number[], { values, tolerance = 1e-5 }: OpCase, slack: number): void {
  expect(actual.length).toBe(values.length);
  for (const [i, value] of values.entries()) {
    if (!Number.isFinite(value)) expect(actual[i]).toBe(value);
    else
      expect(Math.abs(actual[i]! - value)).toBeLessThanOrEqual(
        tolerance * slack * Math.max(1, Math.abs(value)),
      );
  }
}

function checkOn(name: string, open: () => Promise<Device>, list: OpCase[], slack: number): void {
  describe(name, () => {
    let device: Device;
    beforeAll(async () => {
      device = await open();
    });
    afterAll(() => device.close());

    it.each(list.map((entry): [string, OpCase] => [label(entry), entry]))('%s', async (_, entry) => {
      const result = await computeOp(device, entry.op, entry.feeds, entry.params);
      expect(result.shape).toEqual(entry.shape);
      expectValues(result.values, entry, slack);
    });

    it('top_k names the largest, in any order', async () => {
      const result = await computeOp(device, 'top_k', [f32([2, 4], [3, 1, 9, 2, 0, 8, 7, 6])], [2]);
      expect(result.shape).toEqual([2, 2]);
      expect([result.values.slice(0, 2).sort(), result.values.slice(2).sort()]).toEqual([
        [0, 2],
        [1, 2],
      ]);
    });

    it('feeds permuted tensors to every elementwise operation', async () => {
      const result = await compute(device, [x23, f32([2], [10, 20])], (recorder, [x, b]) => {
        const turned = recorder.op('transpose', [x!], [0, 1]);
        return recorder.op('neg', [recorder.op('add', [turned, b!])]);
      });
      expect(result.values).toEqual([-11, -24, -12, -25, -13, -26]);
    });

    it('multiplies a transposed matrix', async () => {
      const result = await compute(device, [x23, f32([1, 2], [1, 10])], (recorder, [x, b]) =>
        recorder.op('mul_mat', [recorder.op('transpose', [x!], [0, 1]), b!]),
      );
      expect(result.values).toEqual([41, 52, 63]);
    });

    it.each([
      ['first', true, false],
      ['second', false, true],
      ['both', true, true],
    ])('multiplies batches with gaps between matrices (%s)', async (_, first, second) => {
      const values = Array.from({ length: 2 * 5 * 3 }, (_, i) => (i % 7) - 3);
      const at = (batch: number, row: number, k: number) => values[(batch * 5 + row) * 3 + k]!;
      for (const rows of [1, 2, 4]) {
        const result = await compute(device, [f32([2, 5, 3], values)], (recorder, [x]) => {
          const gaps = recorder.op('narrow', [x!], [1, 0, rows]);
          const none = recorder.op('cont', [gaps]);
          return recorder.op('mul_mat', [first ? gaps : none, second ? gaps : none]);
        });
        const expected = [];
        for (let batch = 0; batch < 2; batch++) {
          for (let m = 0; m < rows; m++) {
            for (let n = 0; n < rows; n++) {
              expected.push([0, 1, 2].reduce((sum, k) => sum + at(batch, m, k) * at(batch, n, k), 0));
            }
          }
        }
        expect(result.values).toEqual(expected);
      }
    });

    it('multiplies permuted heads', async () => {
      const values = Array.from({ length: 3 * 2 * 4 }, (_, i) => (i % 5) - 2);
      const at = (token: number, head: number, k: number) => values[(token * 2 + head) * 4 + k]!;
      const result = await compute(device, [f32([3, 2, 4], values)], (recorder, [x]) => {
        const heads = recorder.op('transpose', [x!], [0, 1]);
        return recorder.op('mul_mat', [heads, heads]);
      });
      const expected = [];
      for (let head = 0; head < 2; head++) {
        for (let m = 0; m < 3; m++) {
          for (let n = 0; n < 3; n++) {
            expected.push([0, 1, 2, 3].reduce((sum, k) => sum + at(m, head, k) * at(n, head, k), 0));
          }
        }
      }
      expect(result.values).toEqual(expected);
    });

    it('looks rows up by computed ids', async () => {
      const result = await compute(
        device,
        [x23, f32([3, 2], [0, 1, 1, 0, 0, 1])],
        (recorder, [table, scores]) => recorder.op('get_rows', [table!, recorder.op('argmax', [scores!])]),
      );
      expect(result.values).toEqual([4, 5, 6, 1, 2, 3, 4, 5, 6]);
    });

    it('reads several outputs, and the same one reshaped', async () => {
      const recorder = addon.createRecorder();
      const x = recorder.input('f32', [2, 3]);
      const doubled = recorder.op('scale', [x], [2]);
      const flat = recorder.op('reshape', [doubled], [6]);
      const part = recorder.op('narrow', [doubled], [1, 1, 1]);
      for (const handle of [doubled, flat, part, x]) recorder.output(handle);
      const arena = device.createArena();
      const graph = recorder.compile(device, arena);
      const outputs = await graph.run({ inputs: [[x, x23.data]] });
      expect(outputs.map((data) => Array.from(data as Float32Array))).toEqual([
        [2, 4, 6, 8, 10, 12],
        [2, 4, 6, 8, 10, 12],
        [4, 10],
        [1, 2, 3, 4, 5, 6],
      ]);
      const [only] = await graph.run({ read: [part] });
      expect(Array.from(only as Float32Array)).toEqual([4, 10]);
      graph.dispose();
      arena.dispose();
    });
  });
}

checkOn('the processor', () => addon.openDevice({ name: 'CPU', threads: 2 }), opCases, 1);

describe.skipIf(vulkanName === null && !vulkanRequired)('with Vulkan', () => {
  const open = async () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    return addon.openDevice({ name: vulkanName });
  };
  checkOn(
    'a Vulkan device',
    open,
    opCases.filter((entry) => !entry.cpuOnly),
    10,
  );
});

describe('half precision', () => {
  let device: Device;
  beforeAll(async () => {
    device = await addon.openDevice({ name: 'CPU', threads: 1 });
  });
  afterAll(() => device.close());

  it('casts there and back exactly', async () => {
    const values = [0, 1, -2.5, 65504, 2 ** -14];
    for (const code of [1, 30]) {
      const result = await compute(device, [f32([5], values)], (recorder, [x]) =>
        recorder.op('cast', [recorder.op('cast', [x!], [code])], [0]),
      );
      if (code === 1) expect(result.values).toEqual(values);
      else expect(result.values.slice(0, 3)).toEqual(values.slice(0, 3));
    }
  });

  it('arrives as bytes', async () => {
    const result = await compute(device, [f32([2], [1, -2])], (recorder, [x]) =>
      recorder.op('cast', [x!], [1]),
    );
    expect(result.dtype).toBe('f16');
    expect([...bytesOf(result.data)]).toEqual([0x00, 0x3c, 0x00, 0xc0]);
  });

  it('adds f32 to f16', async () => {
    const result = await compute(device, [f32([2], [1, 2]), f32([2], [0.5, 0.25])], (recorder, [x, y]) =>
      recorder.op('cast', [recorder.op('add', [recorder.op('cast', [x!], [1]), y!])], [0]),
    );
    expect(result.values).toEqual([1.5, 2.25]);
  });
});

describe('the table of operations', () => {
  const folder = join(import.meta.dirname, 'src', 'ops');
  const recorded = readdirSync(folder)
    .filter((name) => name.endsWith('.cc'))
    .flatMap((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      return [...text.matchAll(/^ {4}\{"(\w+)", \d+, (?:\d+|kAnyNumber), \d+, (?:\d+|kAnyNumber), /gm)].map(
        (m) => m[1]!,
      );
    })
    .sort();

  it('is listed whole in the README, and nothing else is', () => {
    const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
    const rows = readme.slice(readme.indexOf('## Operations')).matchAll(/^\| ((?:`\w+` ?)+)\|/gm);
    const listed = [...rows].flatMap((row) => [...row[1]!.matchAll(/`(\w+)`/g)].map((m) => m[1]!));
    expect(listed.sort()).toEqual(recorded);
  });

  it('is checked whole above; states have tests of their own', () => {
    const checked = new Set(opCases.map((entry) => entry.op));
    expect(recorded.filter((name) => !checked.has(name))).toEqual(['cpy', 'set_rows']);
  });
});

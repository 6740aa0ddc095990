import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tiled1d } from './tiled1d.ts';

const signal = (frame: number, column: number): number => Math.sin(frame * 0.37 + column) + frame / 100;

/** The same values wherever the tile begins: as a network that looks at one frame only. */
const local =
  (width: number, tiles: [number, number][] = []) =>
  async (from: number, to: number): Promise<Float32Array> => {
    tiles.push([from, to]);
    return Float32Array.from({ length: (to - from) * width }, (_, at) =>
      signal(from + Math.floor(at / width), at % width),
    );
  };

describe('tiled decoding', () => {
  it('gives what one pass gives where frames do not see each other, whatever the tiling', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 700 }),
        fc.integer({ min: 1, max: 3 }),
        fc
          .integer({ min: 1, max: 300 })
          .chain((tile) => fc.tuple(fc.constant(tile), fc.integer({ min: 0, max: tile - 1 }))),
        async (frames, width, [tile, overlap]) => {
          const tiles: [number, number][] = [];
          const out = await tiled1d(frames, local(width, tiles), { tile, overlap });
          expect(out).toEqual(await local(width)(0, frames));
          for (const [from, to] of tiles) expect(to - from).toBeLessThanOrEqual(tile);
          expect(tiles.at(-1)![1]).toBe(frames);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('takes 256 frames at a time with 32 in common', async () => {
    const tiles: [number, number][] = [];
    await tiled1d(600, local(1, tiles));
    expect(tiles).toEqual([
      [0, 256],
      [224, 480],
      [448, 600],
    ]);
  });

  it('fades from one tile to the next without a step', async () => {
    // Two tiles that disagree by 1 everywhere.
    const decode = async (from: number, to: number): Promise<Float32Array> =>
      new Float32Array(to - from).fill(from === 0 ? 0 : 1);
    const out = await tiled1d(40, decode, { tile: 24, overlap: 8 });
    const steps = out.slice(1).map((value, index) => value - out[index]!);
    expect([out[15], out[24]]).toEqual([0, 1]);
    expect(Math.max(...steps)).toBeCloseTo(1 / 8, 6);
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(0);
  });

  it('refuses tilings that never end, and tiles of another length than their frames', async () => {
    await expect(tiled1d(10, local(1), { tile: 4, overlap: 4 })).rejects.toThrow(/cannot overlap by 4/);
    await expect(tiled1d(10, local(1), { tile: 0, overlap: 0 })).rejects.toThrow(RangeError);
    const wrong = async (from: number, to: number) => new Float32Array(to - from + (from === 0 ? 0 : 1));
    await expect(tiled1d(10, wrong, { tile: 4, overlap: 1 })).rejects.toThrow(
      /became 5 values; 4 belong there/,
    );
  });
});

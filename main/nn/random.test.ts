import { describe, expect, it } from 'vitest';
import { Random } from './random.ts';

const count = 200_000;

function moments(values: Float32Array): { mean: number; variance: number; skew: number; kurtosis: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const central = (power: number): number =>
    values.reduce((sum, value) => sum + (value - mean) ** power, 0) / values.length;
  const variance = central(2);
  return { mean, variance, skew: central(3) / variance ** 1.5, kurtosis: central(4) / variance ** 2 };
}

describe('Random', () => {
  it('follows the published xoshiro128** step', () => {
    const random = new Random(0);
    random.restore({ words: [1, 2, 3, 4], spare: null });
    // By hand from the reference: rotl(2 * 5, 7) * 9, then from the state it leaves.
    expect(random.uint32()).toBe(11520);
    expect(random.save().words).toEqual([7, 0, 1026, 12288]);
    expect(random.uint32()).toBe(0);
  });

  it('gives the same numbers for the same seed on every platform', () => {
    const random = new Random(1234567);
    expect([random.uint32(), random.uint32(), random.uint32()]).toMatchInlineSnapshot(`
      [
        1858167840,
        2416146820,
        3635429655,
      ]
    `);
    expect(random.normal()).toMatchInlineSnapshot(`0.5324103780329286`);
  });

  it('gives different numbers for different seeds, beyond 32 bits as well', () => {
    const firsts = [0, 1, 2, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1].map((seed) => {
      const random = new Random(seed);
      return `${random.uint32()} ${random.uint32()}`;
    });
    expect(new Set(firsts).size).toBe(firsts.length);
  });

  it('refuses seeds that would be rounded', () => {
    for (const seed of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => new Random(seed)).toThrow(RangeError);
  });

  it('replays from a saved state, between the two values of a normal pair as well', () => {
    const random = new Random(9);
    random.normal();
    const state = structuredClone(random.save());
    const first = [random.normal(), random.uniform(), random.normal(), random.integer(1000), random.gumbel()];
    random.restore(state);
    const second = [
      random.normal(),
      random.uniform(),
      random.normal(),
      random.integer(1000),
      random.gumbel(),
    ];
    expect(second).toEqual(first);
  });

  it('draws uniforms that fill the unit interval evenly', () => {
    const values = new Random(3).fillUniform(new Float32Array(count));
    const bins = new Array<number>(20).fill(0);
    for (const value of values) bins[Math.min(19, Math.floor(value * 20))]! += 1;
    const expected = count / 20;
    const chiSquared = bins.reduce((sum, bin) => sum + (bin - expected) ** 2 / expected, 0);
    // 19 degrees of freedom: above 43.8 once in a thousand seeds.
    expect(chiSquared).toBeLessThan(43.8);
    expect(Math.min(...values.subarray(0, 1000))).toBeGreaterThanOrEqual(0);
  });

  it('draws normal deviates with the moments of the normal distribution', () => {
    const { mean, variance, skew, kurtosis } = moments(new Random(4).fillNormal(new Float32Array(count)));
    // Five standard errors of each.
    expect(Math.abs(mean)).toBeLessThan(5 / Math.sqrt(count));
    expect(Math.abs(variance - 1)).toBeLessThan(5 * Math.sqrt(2 / count));
    expect(Math.abs(skew)).toBeLessThan(5 * Math.sqrt(6 / count));
    expect(Math.abs(kurtosis - 3)).toBeLessThan(5 * Math.sqrt(24 / count));
  });

  it('scales normal deviates', () => {
    const { mean, variance } = moments(new Random(4).fillNormal(new Float32Array(count), 3, 0.5));
    expect(mean).toBeCloseTo(3, 2);
    expect(variance).toBeCloseTo(0.25, 2);
  });

  it('draws Gumbel deviates with the right mean and variance', () => {
    const { mean, variance } = moments(new Random(5).fillGumbel(new Float32Array(count)));
    expect(mean).toBeCloseTo(0.5772, 1);
    expect(variance).toBeCloseTo(Math.PI ** 2 / 6, 1);
  });

  it('draws whole numbers evenly and within bounds', () => {
    const random = new Random(6);
    const bins = new Array<number>(7).fill(0);
    for (let draw = 0; draw < 70_000; draw += 1) bins[random.integer(7)]! += 1;
    const chiSquared = bins.reduce((sum, bin) => sum + (bin - 10_000) ** 2 / 10_000, 0);
    expect(chiSquared).toBeLessThan(22.5);
    expect(random.integer(1)).toBe(0);
    expect(() => random.integer(0)).toThrow(RangeError);
  });

  it('forks independent generators by name and leaves itself alone', () => {
    const random = new Random(7);
    const before = random.save();
    const [a, again, b] = [random.fork('noise'), random.fork('noise'), random.fork('phase')];
    expect(random.save()).toEqual(before);
    const values = [a, again, b].map((child) => child.fillNormal(new Float32Array(5000)));
    expect(values[1]).toEqual(values[0]);
    const correlation = values[0]!.reduce((sum, value, index) => sum + value * values[2]![index]!, 0) / 5000;
    expect(Math.abs(correlation)).toBeLessThan(5 / Math.sqrt(5000));
  });
});

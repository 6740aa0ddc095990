import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../native/addon.ts';
import type { GraphBuilder } from './graph.ts';
import { GraphCache } from './graph-cache.ts';
import { addon, openTestDevice } from './testing/devices.ts';

describe('GraphCache', () => {
  let device: Device;

  beforeAll(async () => {
    device = await openTestDevice('CPU');
  });

  afterAll(async () => {
    await device.close();
  });

  /** `factor * x` for vectors of one length, counting how often it is recorded. */
  class Scaling {
    recorded: string[] = [];

    constructor(readonly cache: GraphCache) {}

    run(length: number, factor = 2): Promise<Float32Array> {
      const key = `scale:${length}:${factor}`;
      const record = (g: GraphBuilder): void => {
        this.recorded.push(key);
        g.output('y', g.input('x', 'f32', [length]).mul(factor));
      };
      return this.cache.use(key, record, (graph) =>
        graph.runFloat32({ x: new Float32Array(length).fill(1.5) }, 'y'),
      );
    }
  }

  it('records a graph once per key', async () => {
    const cache = new GraphCache(addon, device);
    const scaling = new Scaling(cache);
    expect([...(await scaling.run(3))]).toEqual([3, 3, 3]);
    expect([...(await scaling.run(3))]).toEqual([3, 3, 3]);
    expect([...(await scaling.run(2, 4))]).toEqual([6, 6]);
    expect(scaling.recorded).toEqual(['scale:3:2', 'scale:2:4']);
    await cache.dispose();
    expect(cache.size).toBe(0);
  });

  it('drops the least recently used beyond a number of graphs', async () => {
    const cache = new GraphCache(addon, device, { maxGraphs: 2 });
    const scaling = new Scaling(cache);
    for (const length of [1, 2, 1, 3, 1, 2]) await scaling.run(length);
    expect(scaling.recorded).toEqual(['scale:1:2', 'scale:2:2', 'scale:3:2', 'scale:2:2']);
    expect(cache.size).toBe(2);
    await cache.dispose();
  });

  it('drops the least recently used beyond a number of bytes, never the one that runs', async () => {
    const cache = new GraphCache(addon, device, { maxBytes: 20_000 });
    const scaling = new Scaling(cache);
    await scaling.run(1000);
    await scaling.run(1001);
    expect(cache.size).toBe(2);
    await scaling.run(1002);
    expect(cache.size).toBe(2);
    expect(cache.ioBytes).toBeLessThanOrEqual(20_000);
    await scaling.run(100_000);
    expect(cache.size).toBe(1);
    await cache.dispose();
  });

  it('lets concurrent callers wait for each other', async () => {
    const cache = new GraphCache(addon, device, { maxGraphs: 1 });
    const scaling = new Scaling(cache);
    const results = await Promise.all([5, 6, 7, 5].map((length) => scaling.run(length)));
    expect(results.map((result) => result.length)).toEqual([5, 6, 7, 5]);
    expect(results.every((result) => result.every((value) => value === 3))).toBe(true);
    await cache.dispose();
  });

  it('goes on after a failed recording or run', async () => {
    const cache = new GraphCache(addon, device);
    const scaling = new Scaling(cache);
    const fail = (): never => {
      throw new Error('no such graph');
    };
    await expect(cache.use('bad', fail, async () => 1)).rejects.toThrow('no such graph');
    expect(cache.size).toBe(0);
    const wrong = cache.use(
      'scale:3:2',
      (g) => g.output('y', g.input('x', 'f32', [3])),
      async (graph) => graph.runFloat32({ x: new Float32Array(4) }, 'y'),
    );
    await expect(wrong).rejects.toThrow(/takes 3 values; 4 were given/);
    expect([...(await scaling.run(2))]).toEqual([3, 3]);
    await cache.dispose();
  });

  it('shares one scratch arena and gives it back', async () => {
    const cache = new GraphCache(addon, device);
    const run = (length: number): Promise<Float32Array> =>
      cache.use(
        `${length}`,
        (g) => {
          const x = g.input('x', 'f32', [length]);
          g.output('y', x.sqr().add(x.sin()).mul(x));
        },
        (graph) => graph.runFloat32({ x: new Float32Array(length).fill(1) }, 'y'),
      );
    await run(1000);
    await run(50_000);
    const large = cache.scratchBytes;
    await run(2000);
    expect(cache.scratchBytes).toBe(large);
    await cache.trim();
    expect(cache.scratchBytes).toBe(0);
    const y = await run(1000);
    expect(y[0]).toBeCloseTo(1 + Math.sin(1), 6);
    await cache.dispose();
  });

  it('plans without recording what it keeps', async () => {
    const cache = new GraphCache(addon, device);
    const scaling = new Scaling(cache);
    const plan = cache.plan('scale:64:2', (g) => g.output('y', g.input('x', 'f32', [64]).mul(2)));
    expect(plan.ioBytes).toBeGreaterThanOrEqual(2 * 64 * 4);
    expect(cache.size).toBe(0);
    await scaling.run(64);
    expect(cache.plan('scale:64:2', () => expect.unreachable())).toEqual(plan);
    await cache.dispose();
  });
});

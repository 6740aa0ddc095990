import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Addon, Device, GraphRecorder } from '../../native/addon.ts';
import { type DrawOptions, drawsOn, drawToken, drawTokenOnHost } from './draw.ts';
import { GraphBuilder } from './graph.ts';
import { Random } from './random.ts';
import { addon, openTestDevice, testLimits } from './testing/devices.ts';
import { describeOnDevices } from './testing/suites.ts';

describeOnDevices('drawing within a graph on %s', (name) => {
  let device: Device;
  beforeAll(async () => {
    device = await openTestDevice(name);
  }, testLimits[name]);
  afterAll(() => device.close());

  async function graphDraws(
    draws: { logits: Float32Array; noise: Float32Array }[],
    options: DrawOptions,
  ): Promise<number[]> {
    const tokens = draws[0]!.logits.length;
    const g = new GraphBuilder(addon);
    const logits = g.input('logits', 'f32', [1, tokens]);
    const sampled = options.do_sample !== false;
    const noise = sampled ? g.input('noise', 'f32', [1, tokens]) : null;
    g.output('token', drawToken(g, logits, noise, options));
    const arena = device.createArena();
    const graph = g.compile(device, arena);
    const found: number[] = [];
    for (const draw of draws) {
      const inputs = sampled ? draw : { logits: draw.logits };
      found.push(((await graph.run(inputs)).token as Int32Array)[0]!);
    }
    graph.dispose();
    arena.dispose();
    return found;
  }

  function random(count: number, tokens: number): { logits: Float32Array; noise: Float32Array }[] {
    const numbers = new Random(5);
    return Array.from({ length: count }, () => ({
      logits: numbers.fillNormal(new Float32Array(tokens), 0, 4),
      noise: numbers.fillGumbel(new Float32Array(tokens)),
    }));
  }

  it.each<DrawOptions>([
    { temperature: 0.9, top_k: 50 },
    { temperature: 0.37, top_k: 3 },
    { temperature: 1, top_k: 1 },
    { temperature: 1.7 },
    { temperature: 0.9, top_k: 1500 },
    { temperature: 0.9, top_k: 5000 },
    { do_sample: false },
  ])("draws the host's tokens with %o", async (options) => {
    const draws = random(name === 'CPU' ? 200 : 20, 2048);
    expect(drawsOn(addon, device, 2048, options)).toBe(true);
    const expected = draws.map(({ logits, noise }) => drawTokenOnHost(logits, noise, options));
    expect(await graphDraws(draws, options)).toEqual(expected);
    if (options.top_k !== 1) expect(new Set(expected).size).toBeGreaterThan(10);
  });

  it('takes the first of equals, and keeps all equals of the smallest that is in', async () => {
    const logits = Float32Array.of(1, 5, 5, 2, 5, 0, 5, -3);
    const silent = new Float32Array(8);
    expect(await graphDraws([{ logits, noise: silent }], { do_sample: false })).toEqual([1]);
    // Two are in by count; four share their score.
    const loud = Float32Array.of(9, 0, 0, 9, 0, 9, 3, 9);
    expect(await graphDraws([{ logits, noise: loud }], { top_k: 2 })).toEqual([6]);
    expect(drawTokenOnHost(logits, loud, { top_k: 2 })).toBe(6);
    expect(drawTokenOnHost(logits, null, { do_sample: false })).toBe(1);
  });
});

describe('drawing by noise', () => {
  it('says where a device cannot', () => {
    const refusing = (code: string): Addon => {
      const plan = () => {
        throw Object.assign(new Error('refused'), { code });
      };
      const get = (recorder: GraphRecorder, key: keyof GraphRecorder) =>
        key === 'plan' ? plan : recorder[key].bind(recorder);
      return { ...addon, createRecorder: () => new Proxy(addon.createRecorder(), { get }) as GraphRecorder };
    };
    const device = {} as Device;
    expect(drawsOn(refusing('UnsupportedOp'), device, 64, { top_k: 3 })).toBe(false);
    expect(() => drawsOn(refusing('Disposed'), device, 64, { top_k: 3 })).toThrow('refused');
  });

  it('follows the softmax of the tokens that are in', () => {
    const numbers = new Random(9);
    const weights = [0.5, 0.25, 0.15, 0.07, 0.03];
    const logits = Float32Array.from(weights, (weight) => 0.8 * Math.log(weight));
    const counts = [0, 0, 0, 0, 0];
    const draws = 20_000;
    for (let draw = 0; draw < draws; draw += 1) {
      const noise = numbers.fillGumbel(new Float32Array(5));
      counts[drawTokenOnHost(logits, noise, { temperature: 0.8, top_k: 4 })]! += 1;
    }
    expect(counts[4]).toBe(0);
    const chiSquared = weights.slice(0, 4).reduce((sum, weight, token) => {
      const expected = (draws * weight) / 0.97;
      return sum + (counts[token]! - expected) ** 2 / expected;
    }, 0);
    // 3 degrees of freedom: above 16.3 once in a thousand seeds.
    expect(chiSquared).toBeLessThan(16.3);
  });

  it('says that noise is missing', () => {
    expect(() => drawTokenOnHost(Float32Array.of(1, 2), null, {})).toThrow('noise');
  });
});

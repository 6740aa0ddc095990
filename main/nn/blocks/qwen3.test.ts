import { describe, expect, it } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { GraphBuilder } from '../graph.ts';
import { fuseWhereSupported } from '../layers/attention.ts';
import { causalMask } from '../masks.ts';
import { Random } from '../random.ts';
import { randomWeights } from '../random-weights.ts';
import { addon, openTestDevice } from '../testing/devices.ts';
import { largestDifference } from '../testing/fixtures.ts';
import { itOnVulkan } from '../testing/suites.ts';
import { Qwen3Decoder } from './qwen3.ts';

const config = {
  hidden_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  intermediate_size: 48,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
};
const positions = 7;

async function run(device: Device, decoder: Qwen3Decoder): Promise<Float32Array> {
  const store = randomWeights(addon, decoder, { component: 'decoder', seed: 3 });
  store.bind(device);
  await store.place(-1);
  const g = new GraphBuilder(addon);
  const x = g.input('x', 'f32', [1, positions, config.hidden_size]);
  const inputs = {
    positions: g.input('positions', 'i32', [positions]),
    mask: g.input('mask', 'f32', [positions, positions]),
  };
  g.output('y', decoder.forward(g, x, inputs));
  const arena = device.createArena();
  const graph = g.compile(device, arena);
  const values = {
    x: new Random(1).fillNormal(new Float32Array(positions * config.hidden_size)),
    positions: Int32Array.from({ length: positions }, (_, index) => index),
    mask: causalMask(positions, positions),
  };
  const y = await graph.runFloat32(values, 'y');
  graph.dispose();
  arena.dispose();
  await store.dispose();
  return y;
}

/** Whether each layer's attention is one operation. */
function fused(decoder: Qwen3Decoder): boolean[] {
  return [...decoder.layers].map(({ self_attn }) => self_attn.fused);
}

describe('Qwen3Decoder', () => {
  it('gives the same numbers with fused attention and with products', async () => {
    const device = await openTestDevice('CPU');
    const whole = new Qwen3Decoder(config);
    fuseWhereSupported(addon, device, whole);
    expect(fused(whole)).toEqual([true, true]);
    const composed = new Qwen3Decoder(config);
    for (const { self_attn } of composed.layers) self_attn.fused = false;
    const y = await run(device, whole);
    const expected = await run(device, composed);
    expect(largestDifference(y, expected)).toBeLessThan(5e-6);
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(0.5);
    await device.close();
  });

  itOnVulkan('computes heads for which a device has no fused kernel', async (vulkan) => {
    const narrow = { ...config, head_dim: 4 };
    const decoder = new Qwen3Decoder(narrow);
    fuseWhereSupported(addon, vulkan, decoder);
    expect(fused(decoder)).toEqual([false, false]);
    const y = await run(vulkan, decoder);
    const device = await openTestDevice('CPU');
    expect(largestDifference(y, await run(device, new Qwen3Decoder(narrow)))).toBeLessThan(1e-2);
    await device.close();
  });
});

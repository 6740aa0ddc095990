/**
 * Scratch memory of the Vulkan backend that grows while descriptor sets still name what it was: Mesa's software
 * driver of Debian 12 then counted references in freed memory, and the process died of it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeFolder } from './load.ts';
import { absentVulkan, vulkanName, vulkanRequired } from './test-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'mizuoto-vulkan-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A process of its own: it may die. */
const script = (device: string) => `
const folder = ${JSON.stringify(nativeFolder())};
const addon = require(folder + '/mizuoto.node');
addon.loadBackends(folder);
const width = 64;

/** Attention to so many keys, after so many other kernels. */
async function attend(device, before, keys) {
  const recorder = addon.createRecorder();
  const query = recorder.input('f32', [1, 1, 1, width]);
  const values = recorder.input('f32', [1, 1, keys, width]);
  let x = query;
  for (let i = 0; i < before; i++) x = recorder.op('scale', [x], [1, 1]);
  recorder.output(recorder.op('flash_attn_ext', [x, values, values], [1, 0, 0, 1]));
  const arena = device.createArena();
  const graph = recorder.compile(device, arena);
  const inputs = [[query, new Float32Array(width)], [values, new Float32Array(keys * width).fill(0.5)]];
  const [out] = await graph.run({ inputs });
  graph.dispose();
  arena.dispose();
  if (out.some((value) => Math.abs(value - 0.5) > 1e-3)) throw new Error('Wrong: ' + out);
}

(async () => {
  const device = await addon.openDevice({ name: ${JSON.stringify(device)} });
  const states = [];
  for (let round = 0; round < 12; round++) {
    // The second kernel's descriptor set names the partial sums of the attention,
    await attend(device, 1, 128 * (round + 1));
    // which are destroyed here for larger ones; the second kernel reads fewer buffers, and is the last.
    await attend(device, 0, 128 * (round + 1) + 64);
    // New objects of the driver's, where the destroyed one lay.
    for (let n = 0; n < 4; n++) {
      states.push(await device.createState([{ dtype: 'f32', shape: [300_000 + 10_000 * (4 * round + n)] }]));
    }
  }
  for (const state of states) state.dispose();
  await device.close();
  console.log('ok');
})();
`;

describe.skipIf(vulkanName === null && !vulkanRequired)('with Vulkan', () => {
  it('scratch memory may grow under descriptor sets that name it', () => {
    if (vulkanName === null) throw new Error(absentVulkan);
    const path = join(folder, 'grow.cjs');
    writeFileSync(path, script(vulkanName));
    const result = spawnSync(process.execPath, [path], { encoding: 'utf8', timeout: 120_000 });
    expect(`${result.stderr}${result.signal ?? ''}`).toBe('');
    expect(result.stdout).toBe('ok\n');
    expect(result.status).toBe(0);
  }, 150_000);
});

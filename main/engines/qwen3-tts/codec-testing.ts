import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import type { Checkpoint, Device, WeightStore } from '../../../native/addon.ts';
import { loadWeights } from '../../nn/checkpoint.ts';
import type { DTypePolicy } from '../../nn/dtypes.ts';
import type { Module } from '../../nn/module.ts';
import { addon } from '../../nn/testing/devices.ts';
import { unitsOf } from '../../nn/testing/stack.ts';
import { type Qwen3TtsConfig, readQwen3TtsConfig } from './config.ts';

const folder = fileURLToPath(new URL('fixtures/tiny/base', import.meta.url));

export const tinyConfig: Qwen3TtsConfig = await readQwen3TtsConfig(folder);

export function openTiny(part: 'codec' | 'model'): Promise<Checkpoint> {
  const file = part === 'codec' ? 'speech_tokenizer/model.safetensors' : 'model.safetensors';
  return addon.openCheckpoint([`${folder}/${file}`]);
}

function openNumbers(): Promise<Checkpoint> {
  return addon.openCheckpoint([fileURLToPath(new URL('fixtures/codec.safetensors', import.meta.url))]);
}

/** A tiny checkpoint and the numbers that upstream computed with it, open while the tests of a file run. */
export function tinyFiles(part: 'codec' | 'model'): {
  readonly checkpoint: Checkpoint;
  readonly numbers: Checkpoint;
} {
  const files = {} as { checkpoint: Checkpoint; numbers: Checkpoint };
  beforeAll(async () => {
    files.checkpoint = await openTiny(part);
    files.numbers = await openNumbers();
  });
  afterAll(() => {
    files.checkpoint.close();
    files.numbers.close();
  });
  return files;
}

/** How much of a component is on the device; the rest streams. */
export type Residency = 'resident' | 'half' | 'streamed';

/** Binds a network to its weights, in float32 unless said otherwise; each of its memory units is one, however small. */
export async function place(
  module: Module,
  checkpoint: Checkpoint,
  device: Device,
  rename: (name: string) => string | null,
  residency: Residency = 'resident',
  dtype: DTypePolicy = 'f32',
): Promise<WeightStore> {
  const units = module.memoryUnits() ?? [];
  const { store } = await loadWeights(addon, module, checkpoint, {
    component: 'codec',
    device,
    dtype,
    rename,
    unitOf: unitsOf(units),
    unitModules: units,
  });
  await placeUnits(store, device, residency);
  return store;
}

/** Binds a store, and puts on the device what is to be there. */
export async function placeUnits(store: WeightStore, device: Device, residency: Residency): Promise<void> {
  store.bind(device);
  await store.place(-1);
  const bytes = Array.from({ length: store.unitCount }, (_, unit) => store.unitBytes(unit));
  if (residency !== 'resident' && !device.isHost) {
    await device.setStreamer({ slots: 2, slotBytes: Math.max(...bytes), prefetch: true });
  }
  for (let unit = 0; unit < store.unitCount; unit += 1) {
    if (residency === 'resident' || (residency === 'half' && unit % 2 === 0)) await store.place(unit);
  }
}

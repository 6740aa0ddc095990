import type { ModelSnapshot, RuntimeSnapshot } from '../../../main/contract/runtime.ts';
import { say } from '../../../main/contract/said.ts';
import { partialSnapshot } from './fake-data.ts';

const GiB = 1024 ** 3;

/** A card that is almost too small: memory has run out once, a component gave way, and nothing is measured yet. */
export function smallSnapshot(): RuntimeSnapshot {
  const snapshot = partialSnapshot();
  const [card, ...others] = snapshot.devices;
  const held = { weights: 0.6 * GiB, slots: 0.2 * GiB, compute: 0.3 * GiB, io: 0.01 * GiB, state: 0.1 * GiB };
  const small = {
    ...card!,
    description: 'NVIDIA GeForce GTX 1050',
    total_bytes: 1.8 * GiB,
    free_bytes: 0.3 * GiB,
    others_bytes: 0.29 * GiB,
    reserve_bytes: 0.45 * GiB,
    held,
  };
  const [qwen] = snapshot.models;
  return {
    ...snapshot,
    devices: [small, ...others],
    models: [afterOom(qwen!)],
    policy_notes: [
      say('policy_auto', { device: small.id, mode: 'normal' }),
      say('policy_reserve', { device: small.id, set: 512, usable: 1843, reserve: 461 }),
    ],
  };
}

/** Graphics that share the processor's memory: weights are used where they lie, and what is held is main memory. */
export function unifiedSnapshot(): RuntimeSnapshot {
  const snapshot = partialSnapshot();
  const [card, cpu] = snapshot.devices;
  const device = {
    ...card!,
    id: 'MTL0',
    description: 'Apple M4',
    kind: 'igpu' as const,
    unified: true,
    total_bytes: 16 * GiB,
    free_bytes: 7.1 * GiB,
    others_bytes: 3.1 * GiB,
    held: { weights: 4.6 * GiB, slots: 0, compute: 0.8 * GiB, io: 0.02 * GiB, state: 0.4 * GiB },
  };
  const [qwen] = snapshot.models;
  const components = qwen!.components.map((component) => ({
    ...component,
    loaded_bytes: component.size_bytes,
    mapped_bytes: Math.round(component.size_bytes * 0.97),
    streamed_bytes: 0,
    host_bytes: 0,
    units_resident: component.units,
    partial: null,
  }));
  const model = {
    ...qwen!,
    device: device.id,
    loaded_bytes: qwen!.size_bytes,
    mapped_bytes: components.reduce((bytes, { mapped_bytes }) => bytes + mapped_bytes, 0),
    streamed_bytes: 0,
    host_bytes: 0,
    components,
  };
  return {
    ...snapshot,
    devices: [device, cpu!],
    models: [model],
    policy_notes: [say('policy_auto_unified', { device: device.id, mode: 'shared' })],
  };
}

function afterOom(model: ModelSnapshot): ModelSnapshot {
  const [talker, codec] = model.components;
  const weighed = { mode: 'normal', free_mb: 900, working_mb: 310, reserve_mb: 461 } as const;
  return {
    ...model,
    loaded_bytes: 0.6 * GiB,
    components: [
      {
        ...talker!,
        fixed_bytes: 0.3 * GiB,
        loaded_bytes: 0.4 * GiB,
        units_resident: 1,
        partial: {
          ...weighed,
          reason: 'capped after out of memory',
          loaded_mb: 410,
          size_mb: 3482,
          gave_up_for: null,
        },
      },
      {
        ...codec!,
        loaded_bytes: 0.2 * GiB,
        units_resident: 0,
        partial: {
          ...weighed,
          reason: 'gave up for another component',
          loaded_mb: 205,
          size_mb: 1229,
          gave_up_for: `${model.id}:talker`,
        },
      },
    ],
    calibration: { state: 'none', runs: 1, ratio: 1.4 },
  };
}

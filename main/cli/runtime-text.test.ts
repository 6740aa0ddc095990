import { expect, it } from 'vitest';
import type { ModelSnapshot, RuntimeSnapshot } from '../contract/index.ts';
import { Messages } from './messages.ts';
import { runtimeText } from './runtime.ts';

const bytes = { size_bytes: 2 ** 30, loaded_bytes: 2 ** 30, streamed_bytes: 0, host_bytes: 0 };
const component = (name: string, mapped_bytes: number): ModelSnapshot['components'][number] => {
  const units = { units: 4, units_resident: 4 };
  return { name, kind: 'oneshot', ...bytes, fixed_bytes: 0, mapped_bytes, ...units, partial: null };
};
const snapshot: RuntimeSnapshot = {
  version: 1,
  at: 0,
  devices: [],
  host: {
    total_bytes: 2 ** 34,
    available_bytes: 2 ** 33,
    process_bytes: 2 ** 28,
    pinned_bytes: 0,
    pin_budget_bytes: 0,
    reserve_bytes: 0,
  },
  models: [
    {
      id: 'm',
      engine: 'm',
      name: 'M',
      device: 'MTL0',
      state: 'idle',
      load_fraction: 1,
      last_used_at: 0,
      pinned: false,
      ...bytes,
      mapped_bytes: 2 ** 29,
      components: [component('talker', 2 ** 29), component('codec', 0)],
      calibration: { state: 'not_needed', runs: 0, ratio: 0 },
    },
  ],
  jobs: [],
  policy: {},
  policy_notes: [],
  incidents: [],
};

it.each([
  ['en', 'talker: 512 MiB of its weights are used where they lie in the checkpoint; 512 MiB were copied.'],
  ['zh-CN', 'talker：512 MiB 权重直接在 checkpoint 文件里使用，512 MiB 是复制的。'],
] as const)('what is used in place is told of each component that has some (%s)', (language, sentence) => {
  const text = runtimeText(snapshot, new Messages(language));
  expect(text).toContain(sentence);
  expect(text).not.toContain('codec:');
});

import { expect, it } from 'vitest';
import type { ModelSnapshot, RuntimeSnapshot } from '../contract/index.ts';
import { say } from '../contract/said.ts';
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

it.each([
  ['en', 'What happened', 'Vulkan0 was lost 3 times within 10 minutes and is not used any more.'],
  ['zh-CN', '发生过的问题', 'Vulkan0 在 10 分钟内失去响应 3 次，不再使用。'],
] as const)('what happened to a device comes first, with its time (%s)', (language, title, sentence) => {
  const said = say('device_given_up', { device: 'Vulkan0', times: 3, minutes: 10 });
  const at = new Date(2026, 1, 3, 14, 5, 9).getTime();
  const messages = new Messages(language);
  const lines = runtimeText({ ...snapshot, incidents: [{ at, said }] }, messages).split('\n');
  expect(lines[0]).toBe(title);
  expect(lines[1]).toMatch(/^ {2}(14|0?2):05:09/);
  expect(lines[1]).toContain(sentence);
  expect(runtimeText(snapshot, messages)).not.toContain(title);
});

import { expect, it } from 'vitest';
import { toErrorBody } from './failures.ts';

it('a lost device is one that this process cannot have back, and the sentence says what can', () => {
  const native = Object.assign(new Error('Vulkan0 failed while computing. Close it and open it again.'), {
    code: 'DeviceLost',
    details: { device: 'Vulkan0' },
  });
  const body = toErrorBody(native);
  expect(body).toMatchObject({ code: 'device_lost', retryable: false, params: { device: 'Vulkan0' } });
  expect(body.message).toMatch(/^Vulkan0 stopped responding.*Start Mizuoto again/);
  expect(body.detail).toContain('failed while computing');
});

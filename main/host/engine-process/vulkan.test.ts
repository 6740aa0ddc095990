import { afterAll, describe, expect, it } from 'vitest';
// Names the software device before ggml starts, here and in the processes that are started here.
import { absentVulkan, testLimits, vulkanName, vulkanRequired } from '../../nn/testing/devices.ts';
import { bundleForTest, type TestBundle } from '../testing/bundle.ts';
import { ProcessStudio } from '../testing/process-studio.ts';

let bundle: TestBundle | null = null;
afterAll(() => bundle?.remove());

describe.skipIf(vulkanName === null && !vulkanRequired)('a Vulkan device', () => {
  it(
    'that is lost is opened anew by a fresh process, and speaks',
    async () => {
      if (vulkanName === null) throw new Error(absentVulkan);
      bundle = await bundleForTest(['host-worker', 'device-process', 'engine-process']);
      const studio = new ProcessStudio(bundle, [2, 0]);
      try {
        await studio.client.call('settings.set', { patch: { 'compute.device': vulkanName } });
        const { result, warnings } = await studio.speak({ text: 'Hi.' });
        expect(result.meta.memory.device).toBe(vulkanName);
        expect(warnings.map(({ code }) => code)).toEqual(['request_repeated']);
        expect(await studio.incidents()).toEqual(['device_replaced']);
        expect(studio.processes).toHaveLength(2);
        // Asked for by a process that another process asked for it.
        const { self_tests: tests } = await studio.client.call('doctor.run', {});
        expect(Object.fromEntries(tests.map(({ device, passed }) => [device, passed]))).toEqual({
          CPU: true,
          [vulkanName]: true,
        });
      } finally {
        await studio.close();
      }
    },
    testLimits.Vulkan,
  );
});

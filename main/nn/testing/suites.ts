import { describe, it, type TestContext } from 'vitest';
import type { Device } from '../../../native/addon.ts';
import { absentVulkan, openTestDevice, testLimits, vulkanName, vulkanRequired } from './devices.ts';

/** A suite on the processor and on Vulkan; `%s` in the title is the device. */
export function describeOnDevices(title: string, body: (name: 'CPU' | 'Vulkan') => void): void {
  describe.each(['CPU', 'Vulkan'] as const)(title, (name) => {
    if (name === 'CPU' || vulkanName !== null) return body(name);
    it('has a Vulkan device', requireVulkan);
  });
}

/** A test on Vulkan: skipped, or failed where the device is promised, without one. */
export function itOnVulkan(title: string, body: (device: Device) => Promise<void>): void {
  it(
    title,
    async (context) => {
      requireVulkan(context);
      const device = await openTestDevice('Vulkan');
      try {
        await body(device);
      } finally {
        await device.close();
      }
    },
    testLimits.Vulkan,
  );
}

function requireVulkan(context: Pick<TestContext, 'skip'>): void {
  if (vulkanName !== null) return;
  if (vulkanRequired) throw new Error(absentVulkan);
  context.skip(absentVulkan);
}

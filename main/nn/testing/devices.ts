import type { Addon, Device } from '../../../native/addon.ts';
import { loadAddon } from '../../../native/load.ts';

// ggml passes over Vulkan devices that run on the CPU unless they are named before it starts.
process.env.GGML_VK_VISIBLE_DEVICES ??= '0';

export const addon: Addon = loadAddon();

/** Name of the first Vulkan device, or null. Tests on it are short: the software one is 30 times slower. */
export const vulkanName: string | null =
  addon.devices().find((device) => device.name.startsWith('Vulkan'))?.name ?? null;

/** Without a Vulkan device its tests say that they did not run; where one is promised, that is a failure. */
export const vulkanRequired = process.env.MIZUOTO_REQUIRE_VULKAN === '1';

export const absentVulkan =
  'No Vulkan device is here: install mesa-vulkan-drivers and libvulkan1 for the software one.';

/** Longest that one test may take: the software device compiles each kernel at its first use, on a busy machine slowly. */
export const testLimits = { CPU: 60_000, Vulkan: 600_000 } as const;

/** Opens each device once for a test file. */
export async function openTestDevice(name: 'CPU' | 'Vulkan'): Promise<Device> {
  if (name === 'CPU') return addon.openDevice({ name: 'CPU', threads: 1 });
  if (vulkanName === null) throw new Error(absentVulkan);
  return addon.openDevice({ name: vulkanName });
}

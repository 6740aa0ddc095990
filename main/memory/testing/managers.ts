import { Calibration } from '../calibration.ts';
import type { DeviceBook } from '../device-book.ts';
import { type ManagerOptions, ModelManager } from '../model-manager.ts';
import { MiB, type VramPolicy } from '../policy.ts';
import { FakeDevice } from './fake-device.ts';

export const testPolicy: VramPolicy = {
  mode: 'normal',
  reserveBytes: 512 * MiB,
  limitBytes: null,
  ramReserveBytes: 2048 * MiB,
  hostCopies: 'auto',
  asyncOffload: 1,
  maxPinnedBytes: 13_107 * MiB,
  residency: 'rule',
  gpuJobs: 1,
  oomRetry: true,
  oomFallback: false,
  kvCache: 'dynamic',
};

export interface TestManager {
  manager: ModelManager;
  device: FakeDevice;
  book: DeviceBook;
}

/** A manager over one fake device that checks its books after every step. */
export function testManager(
  device: { totalMiB: number; foreignMiB?: number; locksHostMemory?: boolean },
  policy: Partial<VramPolicy> = {},
  options: Partial<ManagerOptions> = {},
): TestManager {
  const fake = new FakeDevice(device);
  const manager = new ModelManager({
    policy: () => ({ ...testPolicy, ...policy }),
    calibration: Calibration.inMemory(),
    checkAlways: true,
    ...options,
  });
  return { manager, device: fake, book: manager.addDevice(fake) };
}

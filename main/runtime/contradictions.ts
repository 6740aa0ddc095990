import { StudioError } from '../contract/errors.ts';
import type { SettingKey, Settings } from '../contract/settings.ts';
import { MiB } from '../memory/policy.ts';

/** Settings that cannot both be meant are refused with the reason, before anything is opened. */
export function checkContradictions(settings: Settings, ramBytes: number): void {
  const device = settings['compute.device'];
  const simulate = settings['compute.simulate_vram_mb'];
  const limit = settings['compute.vram_limit_mb'];
  const ramReserve = settings['compute.ram_reserve_mb'];
  const ramMb = Math.floor(ramBytes / MiB);
  if (simulate !== null && device !== 'auto' && device.toUpperCase() !== 'CPU') {
    refuse(
      ['compute.simulate_vram_mb', 'compute.device'],
      `The simulated device computes on the processor, and compute.device is ${device}. Set it to auto, or clear compute.simulate_vram_mb.`,
      { device, simulate },
    );
  }
  if (simulate !== null && limit !== null && limit > simulate) {
    refuse(
      ['compute.vram_limit_mb', 'compute.simulate_vram_mb'],
      `The limit of ${limit} MiB is above the ${simulate} MiB of the simulated device. Lower compute.vram_limit_mb or clear it.`,
      { limit, simulate },
    );
  }
  if (ramReserve !== null && ramReserve >= ramMb) {
    refuse(
      ['compute.ram_reserve_mb'],
      `A reserve of ${ramReserve} MiB of RAM leaves nothing of the ${ramMb} MiB that this computer has. Lower compute.ram_reserve_mb or clear it.`,
      { reserve: ramReserve, ram: ramMb },
    );
  }
  const pinned = settings['compute.max_pinned_mb'];
  if (pinned !== null && pinned >= ramMb) {
    refuse(
      ['compute.max_pinned_mb'],
      `${pinned} MiB of pinned memory would take all ${ramMb} MiB of this computer's RAM away from everything else. Lower compute.max_pinned_mb or clear it.`,
      { pinned, ram: ramMb },
    );
  }
}

function refuse(keys: SettingKey[], message: string, params: Record<string, string | number>): never {
  throw new StudioError('contradictory_settings', message, {
    params: { settings: keys.join(', '), ...params },
  });
}

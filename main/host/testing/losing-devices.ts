import { readFileSync, writeFileSync } from 'node:fs';
import type { Addon, OpenDeviceOptions } from '../../../native/addon.ts';

/**
 * The addon with devices that are lost as `script` says: a file with one line for each device but the processor that is opened,
 * whichever process opens it: the segment at which it is lost, 0 for one that stays. Without a file nothing is lost.
 */
export function losingDevices(addon: Addon, script: string | undefined): Addon {
  if (script === undefined) return addon;
  const openDevice = async (options: OpenDeviceOptions): ReturnType<Addon['openDevice']> => {
    const device = await addon.openDevice(options);
    if (device.isHost) return device;
    const [line = '0', ...rest] = readFileSync(script, 'utf8').split('\n');
    writeFileSync(script, rest.join('\n'));
    const segment = Number(line);
    if (segment > 0) device.setFaults({ loseAtSegment: segment });
    return device;
  };
  return Object.assign(Object.create(addon) as Addon, { openDevice });
}

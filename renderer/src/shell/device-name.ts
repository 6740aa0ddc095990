import type { DeviceSnapshot } from '../../../main/contract/runtime.ts';

/**
 * What people call a device: a processor is "CPU", a graphics card goes by its model without the maker's ceremony.
 * Names are data, not words: the same in every language.
 */
export function deviceName(device: DeviceSnapshot): string {
  if (device.simulated || device.kind === 'cpu') return device.id;
  const short = device.description
    .replace(/\((R|TM)\)/gi, '')
    .replace(/^(NVIDIA|AMD|Intel)\s+/i, '')
    .replace(/^(GeForce|Radeon)\s+(?=(RTX|GTX|RX)\b)/i, '')
    .replace(/\s+/g, ' ')
    .trim();
  return short === '' ? device.id : short;
}

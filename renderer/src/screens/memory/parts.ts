import type { DeviceSnapshot, RuntimeSnapshot } from '../../../../main/contract/runtime.ts';

export type DevicePart = 'weights' | 'slots' | 'compute' | 'state' | 'io' | 'others' | 'reserve' | 'free';
export type RamPart = 'process' | 'pinned' | 'others' | 'reserve' | 'available';

export interface Part<P extends string> {
  part: P;
  bytes: number;
}

/**
 * A device's memory from end to end, in the order of the bar: what the studio holds, what others hold, and the free
 * rest, of which the reserve is set apart. The parts add up to the total; empty ones are left out.
 */
export function deviceParts(device: DeviceSnapshot): Part<DevicePart>[] {
  const { held } = device;
  const reserve = Math.min(device.reserve_bytes, device.free_bytes);
  const parts: Part<DevicePart>[] = [
    { part: 'weights', bytes: held.weights },
    { part: 'slots', bytes: held.slots },
    { part: 'compute', bytes: held.compute },
    { part: 'state', bytes: held.state },
    { part: 'io', bytes: held.io },
    { part: 'others', bytes: device.others_bytes },
    { part: 'reserve', bytes: reserve },
    { part: 'free', bytes: device.free_bytes - reserve },
  ];
  return parts.filter(({ bytes }) => bytes > 0);
}

export function heldBytes(device: DeviceSnapshot): number {
  const { held } = device;
  return held.weights + held.slots + held.compute + held.state + held.io;
}

/** Main memory likewise; pinned memory is part of what the process holds. */
export function ramParts(host: RuntimeSnapshot['host']): Part<RamPart>[] {
  const pinned = Math.min(host.pinned_bytes, host.process_bytes);
  const used = Math.max(0, host.total_bytes - host.available_bytes);
  const reserve = Math.min(host.reserve_bytes, host.available_bytes);
  const parts: Part<RamPart>[] = [
    { part: 'process', bytes: host.process_bytes - pinned },
    { part: 'pinned', bytes: pinned },
    { part: 'others', bytes: Math.max(0, used - host.process_bytes) },
    { part: 'reserve', bytes: reserve },
    { part: 'available', bytes: host.available_bytes - reserve },
  ];
  return parts.filter(({ bytes }) => bytes > 0);
}

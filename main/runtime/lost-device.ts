import { StudioError } from '../contract/errors.ts';

const what = (device: string): string =>
  `${device} stopped responding: its driver was reset, or it was removed.`;

const ifAgain = 'if it happens again, update the driver or use compute.device=CPU.';

function deviceLost(
  device: string,
  message: string,
  how: { params?: Record<string, string | number>; retryable?: boolean; detail?: string | undefined },
): StudioError {
  const { params, retryable = false, detail } = how;
  return new StudioError('device_lost', message, {
    params: { device, ...params },
    retryable,
    ...(detail === undefined ? {} : { detail }),
  });
}

/** A driver that was reset keeps its state in this process: only another one gets a sound device. */
export function lostForGood(device: string, detail?: string): StudioError {
  return deviceLost(device, `${what(device)} Start Mizuoto again; ${ifAgain}`, { detail });
}

/** The next request opens it anew, in this process. */
export function lostAndReopened(device: string, detail?: string): StudioError {
  const message = `${device} stopped responding; the next request opens it anew. Try again.`;
  return deviceLost(device, message, { params: { reopened: device }, retryable: true, detail });
}

/** Another process takes it up, if it is still there. `how`: of a driver that crashed. */
export function lostAndReplaced(device: string, how: string | null, detail?: string): StudioError {
  const happened =
    how === null ? what(device) : `The driver of ${device} crashed (${how}) while it computed.`;
  const message = `${happened} The engine was started again in a fresh process: try again; ${ifAgain}`;
  const params = { replaced: device, ...(how === null ? {} : { how }) };
  return deviceLost(device, message, { params, retryable: true, detail });
}

/** It was lost again and again. `chosen`: settings mean it and no other, so that none may take its place. */
export function lostTooOften(
  device: string,
  { times, minutes, chosen }: { times: number; minutes: number; chosen: boolean },
  detail?: string,
): StudioError {
  const often = `${device} was lost ${times} times within ${minutes} minutes`;
  if (!chosen) {
    const message = `${often} and is not used any more: try again, which computes on another device. Update its driver.`;
    return deviceLost(device, message, {
      params: { avoided: device, times, minutes },
      retryable: true,
      detail,
    });
  }
  const instead =
    device === 'Simulated0'
      ? 'Clear compute.simulate_vram_mb, or make it larger'
      : 'Update its driver, or choose another device (compute.device=auto or CPU)';
  const message = `${often} and is not tried again. ${instead}; to try it again, start the studio again.`;
  return deviceLost(device, message, { params: { given_up: device, times, minutes }, detail });
}

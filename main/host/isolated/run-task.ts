import type { SelfTest } from '../../contract/doctor.ts';
import { StudioError, type VerifyRun } from '../../contract/index.ts';
import type { DeviceStep, DeviceTask, FromDeviceProcess, StartDeviceProcess } from './device-task.ts';
import { endText, type OwnProcess, type ProcessEnd } from './own-process.ts';
import { stepWords } from './step-words.ts';

/** Silence after which a driver counts as hanging: first use may compile kernels; speaking may be long. */
export const silenceMs: Record<DeviceTask['kind'], number> = {
  list: 60_000,
  'self-test': 120_000,
  verify: 600_000,
};

export interface RunTaskOptions {
  signal?: AbortSignal;
  onRun?: (run: VerifyRun) => void;
  /** Default: by the kind of task. */
  silenceMs?: number;
}

/**
 * Does one task in a process of its own. The process is gone when this settles.
 *
 * @throws StudioError `device_lost` where the driver crashed (params `how`) or hangs (params `seconds`), with the device
 *   and what it was doing; what the task throws.
 */
export function runDeviceTask(
  start: StartDeviceProcess,
  task: DeviceTask,
  options: RunTaskOptions = {},
): Promise<SelfTest | null> {
  const { signal, onRun, silenceMs: limit = silenceMs[task.kind] } = options;
  return new Promise((resolve, reject) => {
    let step: DeviceStep = 'starting';
    let child: OwnProcess;
    let settled = false;
    let silence: NodeJS.Timeout | undefined;
    const settle = (finish: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(silence);
      signal?.removeEventListener('abort', stop);
      child?.kill();
      finish();
    };
    const stop = (): void => settle(() => reject(new StudioError('cancelled', 'Cancelled.')));
    const listen = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => settle(() => reject(hung(task, step, limit))), limit);
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener('abort', stop);
    try {
      child = start();
    } catch (error) {
      return settle(() => reject(error));
    }
    listen();
    child.onEnd((end) => settle(() => reject(crashed(task, step, end))));
    child.onMessage((raw) => {
      if (settled) return;
      const message = raw as FromDeviceProcess;
      listen();
      if (message.type === 'step') step = message.step;
      else if (message.type === 'run') onRun?.(message.run);
      else if (message.type === 'done') settle(() => resolve(message.test));
      else settle(() => reject(StudioError.fromBody(message.error)));
    });
    child.send(task);
  });
}

const advice = (device: string | null): string =>
  device === null
    ? 'Update the graphics drivers.'
    : 'Update the driver, or compute elsewhere: mizuoto settings set compute.device=CPU.';

const driverOf = (device: string | null): string =>
  device === null ? 'A graphics driver' : `The driver of ${device}`;

function crashed(task: DeviceTask, step: DeviceStep, end: ProcessEnd): StudioError {
  const device = task.kind === 'list' ? null : task.device;
  const how = endText(end);
  return new StudioError(
    'device_lost',
    `${driverOf(device)} crashed (${how}) while ${stepWords[step]}. ${advice(device)}`,
    { params: { device: device ?? '', how, step } },
  );
}

function hung(task: DeviceTask, step: DeviceStep, limit: number): StudioError {
  const device = task.kind === 'list' ? null : task.device;
  const seconds = Math.round(limit / 1000);
  return new StudioError(
    'device_lost',
    `${driverOf(device)} did not answer for ${seconds} s while ${stepWords[step]}. ${advice(device)}`,
    { params: { device: device ?? '', seconds, step } },
  );
}

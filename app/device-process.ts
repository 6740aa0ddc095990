import { utilityProcess } from 'electron';
import type { DeviceProcess, FromDeviceProcess } from '../main/host/isolated/device-task.ts';

/**
 * A graphics driver is tested in a utility process: in a package the shell's binary cannot start as plain Node. Its
 * end tells an exit code alone; on Linux and macOS that is the signal's number after a crash.
 */
export function startUtilityProcess(path: string): DeviceProcess {
  const child = utilityProcess.fork(path, [], { serviceName: 'mizuoto-device', stdio: 'ignore' });
  return {
    send: (task) => child.postMessage(task),
    onMessage: (listener) => {
      child.on('message', (message: unknown) => listener(message as FromDeviceProcess));
    },
    onEnd: (listener) => {
      child.once('exit', (code) => listener({ code, signal: null }));
    },
    kill: () => {
      child.kill();
    },
  };
}

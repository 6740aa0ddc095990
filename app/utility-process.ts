import { basename } from 'node:path';
import { utilityProcess } from 'electron';
import type { OwnProcess } from '../main/host/isolated/own-process.ts';

/**
 * Drivers are tested, and voices computed, in utility processes: in a package the shell's binary cannot start as plain
 * Node. Its end tells an exit code alone; on Linux and macOS that is the signal's number after a crash.
 */
export function startUtilityProcess(path: string): OwnProcess {
  const child = utilityProcess.fork(path, [], {
    serviceName: `mizuoto-${basename(path, '.mjs')}`,
    stdio: 'ignore',
  });
  return {
    send: (message) => child.postMessage(message),
    onMessage: (listener) => {
      child.on('message', listener);
    },
    onEnd: (listener) => {
      child.once('exit', (code) => listener({ code, signal: null }));
    },
    kill: () => {
      child.kill();
    },
  };
}

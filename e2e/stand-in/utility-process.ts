/** Electron's utility processes by plain Node: the child finds `process.parentPort` as it would in Electron. */
import { fork } from 'node:child_process';
import { EventEmitter } from 'node:events';

const parentPort = `process.parentPort = {
  on: (_name, listener) => process.on('message', (data) => listener({ data })),
  postMessage: (message) => process.send(message),
};`;

class UtilityProcess extends EventEmitter {
  readonly #child: ReturnType<typeof fork>;

  constructor(path: string, args: string[]) {
    super();
    this.#child = fork(path, args, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: ['--import', `data:text/javascript,${encodeURIComponent(parentPort)}`],
    });
    this.#child.on('message', (message) => this.emit('message', message));
    this.#child.on('exit', (code, signal) => this.emit('exit', signal === null ? code : 11));
  }

  postMessage(message: unknown): void {
    this.#child.send(message as object, () => {});
  }

  kill(): boolean {
    return this.#child.kill();
  }
}

export const utilityProcess = {
  fork: (path: string, args: string[] = []): UtilityProcess => new UtilityProcess(path, args),
};

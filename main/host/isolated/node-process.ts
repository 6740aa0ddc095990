import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StudioError } from '../../contract/index.ts';
import type { OwnProcess, ProcessEnd, Program } from './own-process.ts';

/**
 * The bundle of a program: beside this one, or in `../main/`.
 * @throws StudioError `host_unreachable` where it is missing.
 */
export function programPath(program: Program): string {
  const places = ['.', '../main'].map((folder) =>
    fileURLToPath(new URL(`${folder}/${program}.mjs`, import.meta.url)),
  );
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new StudioError(
    'host_unreachable',
    `${program}.mjs is missing. Run "npm run setup" to build it again.`,
    { params: { program: `${program}.mjs` } },
  );
}

/** A process of plain Node. Inside a packaged shell Node cannot be started: the shell gives its own way. */
export function startNodeProcess(path: string): OwnProcess {
  const child = fork(path, [], {
    serialization: 'advanced',
    // What a crashing driver prints helps nobody, and the standard output belongs to the command.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [],
  });
  let end: ProcessEnd | null = null;
  const listeners: ((end: ProcessEnd) => void)[] = [];
  const finish = (how: ProcessEnd): void => {
    if (end !== null) return;
    end = how;
    for (const listener of listeners) listener(how);
  };
  child.on('exit', (code, signal) => finish({ code, signal }));
  child.on('error', () => finish({ code: null, signal: null }));
  return {
    // A process that is gone already is reported by its end.
    send: (message) => child.send(message as object, () => {}),
    onMessage: (listener) => {
      child.on('message', listener);
    },
    onEnd: (listener) => {
      if (end === null) listeners.push(listener);
      else listener(end);
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}

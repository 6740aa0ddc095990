import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { OwnProcess, ProcessEnd } from './own-process.ts';

type Up = { message: unknown } | { end: ProcessEnd };

/** A process that another thread starts: only the main thread of Electron can. `hand` gives it its end of a channel. */
export function processThroughPort(hand: (port: MessagePort) => void): OwnProcess {
  const { port1: own, port2: theirs } = new MessageChannel();
  hand(theirs);
  return {
    send: (message) => own.postMessage(message),
    onMessage: (listener) => {
      own.on('message', (up: Up) => {
        if ('message' in up) listener(up.message);
      });
    },
    onEnd: (listener) => {
      own.on('message', (up: Up) => {
        if ('end' in up) listener(up.end);
      });
    },
    kill: () => own.close(),
  };
}

/** The other end: starts the process and carries messages until either side is gone. */
export function serveProcess(start: () => OwnProcess, port: MessagePort): void {
  let child: OwnProcess;
  try {
    child = start();
  } catch {
    port.postMessage({ end: { code: null, signal: null } } satisfies Up);
    return;
  }
  let over = false;
  child.onMessage((message) => {
    if (!over) port.postMessage({ message } satisfies Up);
  });
  child.onEnd((end) => {
    if (!over) port.postMessage({ end } satisfies Up);
  });
  port.on('message', (message: unknown) => child.send(message));
  port.on('close', () => {
    over = true;
    child.kill();
  });
}

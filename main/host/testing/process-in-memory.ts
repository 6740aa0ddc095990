import type { EngineOptions } from '../engine-process/protocol.ts';
import { type EngineMaker, serveEngine } from '../engine-process/serve.ts';
import type { OwnProcess, ProcessEnd, StartProcess } from '../isolated/own-process.ts';

export interface MemoryProcess {
  readonly number: number;
  readonly alive: boolean;
  /** As a driver that writes where it may not. */
  crash(end?: ProcessEnd): void;
}

/** Engine processes that are none: the same messages, cloned as they would be, in one thread. */
export function processesInMemory(
  make: (process: MemoryProcess, options: EngineOptions) => ReturnType<EngineMaker>,
) {
  const started: MemoryProcess[] = [];
  const startProcess: StartProcess = () => {
    const toChild: ((message: unknown) => void)[] = [];
    const toParent: ((message: unknown) => void)[] = [];
    const onEnd: ((end: ProcessEnd) => void)[] = [];
    let alive = true;
    const carry = (to: ((message: unknown) => void)[], message: unknown): void => {
      const copy = structuredClone(message);
      setImmediate(() => {
        if (alive) for (const listener of to) listener(copy);
      });
    };
    const end = (how: ProcessEnd): void => {
      if (!alive) return;
      alive = false;
      setImmediate(() => {
        for (const listener of onEnd) listener(how);
      });
    };
    const child: MemoryProcess = {
      number: started.length + 1,
      get alive() {
        return alive;
      },
      crash: (how = { code: null, signal: 'SIGSEGV' }) => end(how),
    };
    started.push(child);
    setImmediate(() => {
      serveEngine(
        { send: (message) => carry(toParent, message), onMessage: (listener) => void toChild.push(listener) },
        (options) => make(child, options),
        // What was said before is heard before.
        () => setImmediate(() => end({ code: 0, signal: null })),
      );
    });
    const process: OwnProcess = {
      send: (message) => carry(toChild, message),
      onMessage: (listener) => void toParent.push(listener),
      onEnd: (listener) => void onEnd.push(listener),
      kill: () => {
        alive = false;
      },
    };
    return process;
  };
  return { startProcess, started };
}

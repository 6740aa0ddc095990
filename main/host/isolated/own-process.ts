/** How a process ended: a signal where one ended it. */
export interface ProcessEnd {
  code: number | null;
  signal: string | null;
}

/** A process that was started, whoever can start one here: Node, Electron, or another thread that was asked. */
export interface OwnProcess {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Called once; also where it could not be started. */
  onEnd(listener: (end: ProcessEnd) => void): void;
  kill(): void;
}

/** What such a process runs: the bundle of this name. */
export const programs = ['device-process', 'engine-process'] as const;
export type Program = (typeof programs)[number];

export type StartProcess = (program: Program) => OwnProcess;

/** `SIGSEGV`, `exit code 134`, or Windows's own name of what it calls an exit code. */
export function endText({ code, signal }: ProcessEnd): string {
  if (signal !== null) return signal;
  if (code === null) return 'without a code';
  return code > 0xffff || code < 0 ? `0x${(code >>> 0).toString(16).toUpperCase()}` : `exit code ${code}`;
}

/** In a utility process of Electron; plain Node has `process.send` instead. */
interface ParentPort {
  on(name: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/** This process's way to whoever started it. Where that is gone, `onGone` is called; Electron ends the process itself. */
export function parentOf(onGone: () => void): Pick<OwnProcess, 'send' | 'onMessage'> {
  const { parentPort } = process as { parentPort?: ParentPort };
  if (parentPort !== undefined) {
    return {
      send: (message) => parentPort.postMessage(message),
      onMessage: (listener) => parentPort.on('message', ({ data }) => listener(data)),
    };
  }
  process.on('disconnect', onGone);
  return {
    // Whoever asked may be gone: `onGone` says so.
    send: (message) => void process.send?.(message, undefined, undefined, () => {}),
    onMessage: (listener) => void process.on('message', listener),
  };
}

import type { Said } from '../../contract/index.ts';
import type { SpeechOutcome, SpokenChunk } from '../backend.ts';
import { toErrorBody } from '../failures.ts';
import type { OwnProcess, ProcessEnd, Program, StartProcess } from '../isolated/own-process.ts';
import { Throttle } from '../throttle.ts';
import type { EngineOptions, EngineSide, FromEngine, ToEngine } from './protocol.ts';

export type EngineMaker = (
  options: EngineOptions,
  log: (level: 'info' | 'warning' | 'error', message: string, said?: Said) => void,
  startProcess: StartProcess,
) => Promise<EngineSide>;

/** The host looks at most so often; what changed in between is in what it sees then. */
const changeIntervalMs = 25;

interface Request {
  stream: AsyncGenerator<SpokenChunk, SpeechOutcome, void>;
  abort: AbortController;
}

/** An engine process's side: does what its supervisor asks. `onClosed` is called once everything is given back. */
export function serveEngine(
  parent: Pick<OwnProcess, 'send' | 'onMessage'>,
  make: EngineMaker,
  onClosed: () => void,
): void {
  const send = (message: FromEngine): void => parent.send(message);
  const children = new Children(send);
  const requests = new Map<number, Request>();
  const changed = new Throttle<void>(() => send({ type: 'changed' }), changeIntervalMs);
  let engine: EngineSide | null = null;

  const open = async (options: EngineOptions): Promise<void> => {
    try {
      const log = (level: 'info' | 'warning' | 'error', message: string, said?: Said): void =>
        send({ type: 'log', level, message, ...(said === undefined ? {} : { said }) });
      const made = await make(options, log, (program) => children.start(program));
      made.setModels(options.models);
      made.onChange(() => changed.push());
      engine = made;
      send({ type: 'opened', ggmlVersion: made.ggmlVersion, devices: made.devices() });
    } catch (error) {
      send({ type: 'not-opened', error: toErrorBody(error) });
    }
  };

  const answer = async ({ id, name, args }: Extract<ToEngine, { type: 'call' }>): Promise<void> => {
    try {
      const further = name === 'verify' ? [(run: never) => send({ type: 'run', id, run })] : [];
      // The supervisor's types are the same interface's: arguments and name belong together.
      const call = engine![name] as (...args: unknown[]) => unknown;
      send({ type: 'reply', id, ok: true, value: await call.apply(engine, [...args, ...further]) });
    } catch (error) {
      send({ type: 'reply', id, ok: false, error: toErrorBody(error) });
    }
  };

  const speak = ({ id, task }: Extract<ToEngine, { type: 'speak' }>): void => {
    const abort = new AbortController();
    const stream = engine!.speak(task, {
      signal: abort.signal,
      progress: (progress) => send({ type: 'progress', id, progress }),
    });
    requests.set(id, { stream, abort });
  };

  const next = async (id: number): Promise<void> => {
    const request = requests.get(id);
    if (request === undefined) return;
    try {
      const step = await request.stream.next();
      if (step.done) requests.delete(id);
      send({ type: 'step', id, step });
    } catch (error) {
      requests.delete(id);
      send({ type: 'failed', id, error: toErrorBody(error) });
    }
  };

  const stop = (id: number, how: 'cancel' | 'leave'): void => {
    const request = requests.get(id);
    request?.abort.abort();
    if (how === 'cancel' || request === undefined) return;
    requests.delete(id);
    void request.stream.return(undefined as never).then(
      (step) => send({ type: 'step', id, step }),
      (error: unknown) => send({ type: 'failed', id, error: toErrorBody(error) }),
    );
  };

  const close = async (): Promise<void> => {
    for (const { abort } of requests.values()) abort.abort();
    await Promise.all(
      [...requests.values()].map(({ stream }) => stream.return(undefined as never).catch(() => {})),
    );
    changed.cancel();
    await engine?.close().catch((error: unknown) => {
      send({ type: 'log', level: 'error', message: toErrorBody(error).message });
    });
    children.end();
    onClosed();
  };

  parent.onMessage((raw) => {
    const message = raw as ToEngine;
    if (message.type === 'open') void open(message.options);
    else if (message.type === 'call') void answer(message);
    else if (message.type === 'speak') speak(message);
    else if (message.type === 'next') void next(message.id);
    else if (message.type === 'stop') stop(message.id, message.how);
    else if (message.type === 'close') void close();
    else children.receive(message);
  });
  send({ type: 'up' });
}

/** Processes that the supervisor starts for this one. */
class Children {
  #nextId = 1;
  readonly #alive = new Map<number, { said: (message: unknown) => void; ended: (end: ProcessEnd) => void }>();

  constructor(private readonly send: (message: FromEngine) => void) {}

  start(program: Program): OwnProcess {
    const id = this.#nextId++;
    const child = { said: (_message: unknown) => {}, ended: (_end: ProcessEnd) => {} };
    this.#alive.set(id, child);
    this.send({ type: 'child-start', id, program });
    return {
      send: (message) => this.send({ type: 'child-send', id, message }),
      onMessage: (listener) => {
        child.said = listener;
      },
      onEnd: (listener) => {
        child.ended = listener;
      },
      kill: () => {
        if (this.#alive.delete(id)) this.send({ type: 'child-kill', id });
      },
    };
  }

  receive(message: Extract<ToEngine, { type: `child-${string}` }>): void {
    const child = this.#alive.get(message.id);
    if (message.type === 'child-said') child?.said(message.message);
    else {
      this.#alive.delete(message.id);
      child?.ended(message.end);
    }
  }

  end(): void {
    for (const id of [...this.#alive.keys()]) this.send({ type: 'child-kill', id });
    this.#alive.clear();
  }
}

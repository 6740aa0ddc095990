import type { DeviceInfo } from '../../../native/addon.ts';
import { type Said, StudioError } from '../../contract/index.ts';
import type { SpeechContext, SpeechOutcome, SpeechTask, SpokenChunk } from '../backend.ts';
import { endText, type OwnProcess, type ProcessEnd, type StartProcess } from '../isolated/own-process.ts';
import type { EngineCall, EngineOptions, EngineSide, FromEngine, SpokenStep, ToEngine } from './protocol.ts';

/** The process ended while it was asked something. */
export class EngineGone extends Error {
  constructor(
    readonly end: ProcessEnd,
    /** False where it ended before it ran a line: then it cannot be had here at all. */
    readonly begun: boolean,
  ) {
    super(`The engine process ended: ${endText(end)}.`);
    this.name = 'EngineGone';
  }
}

export interface RemoteEngineListeners {
  changed(): void;
  log(level: 'info' | 'warning' | 'error', message: string, said?: Said): void;
  /** The process ended without being asked to, or was ended because it does not answer. */
  crashed(end: ProcessEnd): void;
}

/** How long a process may be silent. */
export interface Patience {
  /** Until its drivers are loaded: first use may compile kernels. */
  openMs: number;
  /** Until a cancelled request is over: a device that hangs never ends it. */
  cancelMs: number;
}

const patience: Patience = { openMs: 120_000, cancelMs: 30_000 };

export type Answer<N extends EngineCall> = EngineSide[N] extends (...args: never[]) => infer R
  ? Awaited<R>
  : never;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** What comes before the answer: progress of a request, runs of a verification. */
  onEvent?: (event: never) => void;
}

/** One engine process, and what is asked of it. */
export class RemoteEngine {
  ggmlVersion = '';
  devices: readonly DeviceInfo[] = [];
  readonly #process: OwnProcess;
  readonly #calls = new Map<number, Waiting>();
  /** By request: who waits for its next value. */
  readonly #steps = new Map<number, Waiting>();
  readonly #children = new Map<number, OwnProcess>();
  #opening: Waiting | null = null;
  #nextId = 1;
  #begun = false;
  #closing = false;
  #end: ProcessEnd | null = null;
  #onEnd: () => void = () => {};
  /** Requests and verifications that are not over. */
  #busy = 0;
  #onIdle: () => void = () => {};

  private constructor(
    private readonly start: StartProcess,
    private readonly listeners: RemoteEngineListeners,
    private readonly patience: Patience,
  ) {
    this.#process = start('engine-process');
    this.#process.onMessage((message) => this.#receive(message as FromEngine));
    this.#process.onEnd((end) => this.#ended(end));
  }

  /** @throws EngineGone, or the StudioError that kept the engines from opening. */
  static async open(
    start: StartProcess,
    options: EngineOptions,
    listeners: RemoteEngineListeners,
    limits: Partial<Patience> = {},
  ): Promise<RemoteEngine> {
    const engine = new RemoteEngine(start, listeners, { ...patience, ...limits });
    const opening = engine.#limit(engine.patience.openMs);
    try {
      await new Promise<unknown>((resolve, reject) => {
        engine.#opening = { resolve, reject };
        if (engine.#end === null) engine.#send({ type: 'open', options });
        else reject(new EngineGone(engine.#end, false));
      });
      return engine;
    } catch (error) {
      engine.kill();
      throw error;
    } finally {
      clearTimeout(opening);
    }
  }

  /** @throws EngineGone where the process ends first. */
  async call<N extends EngineCall>(
    name: N,
    args: Parameters<EngineSide[N]>,
    onEvent?: (event: never) => void,
  ): Promise<Answer<N>> {
    const id = this.#nextId++;
    const long = name === 'verify';
    if (long) this.#busy++;
    try {
      const answer = this.#wait(this.#calls, id, onEvent);
      // A function cannot cross; what it would be called with comes back as events.
      const sent = args.filter((argument) => typeof argument !== 'function');
      this.#send({ type: 'call', id, name, args: sent });
      return (await answer) as Answer<N>;
    } finally {
      if (long) this.#done();
    }
  }

  /** @throws EngineGone where the process ends first. */
  async *speak(
    task: SpeechTask,
    { signal, progress }: SpeechContext,
  ): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const id = this.#nextId++;
    let deaf: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      this.#send({ type: 'stop', id, how: 'cancel' });
      deaf ??= this.#limit(this.patience.cancelMs);
    };
    const next = (message: ToEngine): Promise<unknown> => {
      const step = this.#wait(this.#steps, id, progress as (event: never) => void);
      this.#send(message);
      return step;
    };
    let over = false;
    this.#busy++;
    try {
      this.#send({ type: 'speak', id, task });
      signal.addEventListener('abort', cancel);
      if (signal.aborted) cancel();
      for (;;) {
        const step = (await next({ type: 'next', id }).catch((error: unknown) => {
          over = true;
          throw error;
        })) as SpokenStep;
        over = step.done === true;
        if (step.done) return step.value;
        yield { ...step.value, samples: own(step.value.samples) };
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      // Whoever leaves early waits until the device is free.
      if (!over) {
        deaf ??= this.#limit(this.patience.cancelMs);
        await next({ type: 'stop', id, how: 'leave' }).catch(() => {});
      }
      clearTimeout(deaf);
      this.#done();
    }
  }

  /** Ends it once what it was asked to speak or to verify is over; at the latest after `limitMs` more. */
  async retire(limitMs: number): Promise<void> {
    if (this.#busy > 0 && this.#end === null) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.close(limitMs);
  }

  /** Resolves when the process is gone. */
  async close(limitMs: number): Promise<void> {
    this.#closing = true;
    if (this.#end === null) {
      const gone = new Promise<void>((resolve) => {
        this.#onEnd = resolve;
      });
      this.#send({ type: 'close' });
      const timer = setTimeout(() => {
        this.kill();
        this.#ended({ code: null, signal: null });
      }, limitMs);
      await gone;
      clearTimeout(timer);
    }
    this.kill();
  }

  /** Also lets go of the way to it. */
  kill(): void {
    this.#closing = true;
    this.#process.kill();
    for (const child of this.#children.values()) child.kill();
    this.#children.clear();
  }

  /** Ends the process after this time, unless the timer is cleared. */
  #limit(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#process.kill();
      this.#ended({ code: null, signal: `no answer for ${Math.round(ms / 1000)} s` });
    }, ms);
  }

  #send(message: ToEngine): void {
    if (this.#end === null) this.#process.send(message);
  }

  #wait(among: Map<number, Waiting>, id: number, onEvent?: (event: never) => void): Promise<unknown> {
    if (this.#end !== null) return Promise.reject(new EngineGone(this.#end, this.#begun));
    return new Promise((resolve, reject) => {
      among.set(id, { resolve, reject, ...(onEvent === undefined ? {} : { onEvent }) });
    });
  }

  #done(): void {
    this.#busy--;
    if (this.#busy === 0) this.#onIdle();
  }

  #receive(message: FromEngine): void {
    if (message.type === 'up') this.#begun = true;
    else if (message.type === 'opened') {
      this.ggmlVersion = message.ggmlVersion;
      this.devices = message.devices;
      this.#opening?.resolve(undefined);
    } else if (message.type === 'not-opened') this.#opening?.reject(StudioError.fromBody(message.error));
    else if (message.type === 'reply') {
      const waiting = this.#take(this.#calls, message.id);
      if (message.ok) waiting?.resolve(message.value);
      else waiting?.reject(StudioError.fromBody(message.error));
    } else if (message.type === 'step') this.#take(this.#steps, message.id)?.resolve(message.step);
    else if (message.type === 'failed') {
      this.#take(this.#steps, message.id)?.reject(StudioError.fromBody(message.error));
    } else if (message.type === 'progress') {
      this.#steps.get(message.id)?.onEvent?.(message.progress as never);
    } else if (message.type === 'run') this.#calls.get(message.id)?.onEvent?.(message.run as never);
    else if (message.type === 'changed') this.listeners.changed();
    else if (message.type === 'log') this.listeners.log(message.level, message.message, message.said);
    else this.#receiveOfChild(message);
  }

  #receiveOfChild(message: Extract<FromEngine, { type: `child-${string}` }>): void {
    if (message.type === 'child-start') this.#startChild(message.id, message.program);
    else if (message.type === 'child-send') this.#children.get(message.id)?.send(message.message);
    else {
      this.#children.get(message.id)?.kill();
      this.#children.delete(message.id);
    }
  }

  #take(among: Map<number, Waiting>, id: number): Waiting | undefined {
    const waiting = among.get(id);
    among.delete(id);
    return waiting;
  }

  #startChild(id: number, program: Parameters<StartProcess>[0]): void {
    try {
      const child = this.start(program);
      this.#children.set(id, child);
      child.onMessage((message) => this.#send({ type: 'child-said', id, message }));
      child.onEnd((end) => this.#send({ type: 'child-ended', id, end }));
    } catch {
      this.#send({ type: 'child-ended', id, end: { code: null, signal: null } });
    }
  }

  #ended(end: ProcessEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    const gone = new EngineGone(end, this.#begun);
    const waiting = [...this.#calls.values(), ...this.#steps.values()];
    this.#calls.clear();
    this.#steps.clear();
    const crashed = !this.#closing;
    this.kill();
    // Before those who wait: they ask at once for another one.
    if (crashed) this.listeners.crashed(end);
    this.#opening?.reject(gone);
    for (const { reject } of waiting) reject(gone);
    this.#onIdle();
    this.#onEnd();
  }
}

/** Samples in a buffer of their own, which can be handed on without its neighbours. */
function own(samples: Float32Array): Float32Array {
  return samples.byteLength === samples.buffer.byteLength ? samples : samples.slice();
}

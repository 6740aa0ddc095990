import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  type CallInput,
  type CallName,
  type CallResponse,
  type EventData,
  type EventName,
  type StudioClient,
  StudioError,
} from '../contract/index.ts';
import { studioFolders } from '../settings/paths.ts';
import { programPath, startNodeProcess } from './isolated/node-process.ts';
import type { StartProcess } from './isolated/own-process.ts';
import { serveProcess } from './isolated/through-port.ts';
import type { FromHost, HostOptions, ToHost } from './protocol.ts';
import { SpeakStream } from './speak-stream.ts';

export interface HostClientOptions extends Partial<HostOptions> {
  /** The bundled worker; default: `host-worker.mjs` beside this bundle, or in `../main/`. */
  worker?: string | URL;
  /** Seconds of waiting before the 1st, 2nd, ... restart after a crash; after the last one the host stays down. */
  restartDelays?: readonly number[];
  /** A host that ran this long without a crash starts from the first delay again. */
  calmSeconds?: number;
  /** Starts processes of their own: to test a graphics driver, to compute; default: those of plain Node. */
  startProcess?: StartProcess;
}

type State = 'starting' | 'ready' | 'waiting' | 'closing' | 'closed' | 'broken';

interface Pending {
  message: ToHost;
  sent: boolean;
  resolve(response: unknown): void;
  reject(error: StudioError): void;
}

/**
 * The studio's client: starts the engine host in a worker thread and speaks the contract with it. When the host
 * crashes, everything in flight fails with `host_crashed`, and a new host starts (0, 5, 15 s later); after crashes in
 * a row it stays down and calls fail with `host_unreachable`.
 */
export class HostClient implements StudioClient {
  #state: State = 'starting';
  #worker: Worker | null = null;
  #nextId = 1;
  #crashes = 0;
  #calm: NodeJS.Timeout | null = null;
  #restart: NodeJS.Timeout | null = null;
  #closed: Promise<void> | null = null;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<EventName, Set<(data: never) => void>>();
  /** Jobs that the host would still settle, were it alive. */
  readonly #openJobs = new Set<string>();
  readonly #workerPath: URL;
  readonly #hostOptions: HostOptions;
  readonly #restartDelays: readonly number[];
  readonly #calmMs: number;
  readonly #startProcess: StartProcess;

  constructor(options: HostClientOptions = {}) {
    const folders = studioFolders();
    this.#workerPath = workerUrl(options.worker);
    this.#restartDelays = options.restartDelays ?? [0, 5, 15];
    this.#calmMs = (options.calmSeconds ?? 60) * 1000;
    this.#startProcess = options.startProcess ?? ((program) => startNodeProcess(programPath(program)));
    this.#hostOptions = {
      configFolder: options.configFolder ?? folders.config,
      cacheFolder: options.cacheFolder ?? folders.cache,
      keepAudio: options.keepAudio ?? true,
      testEngines: options.testEngines ?? process.env.MIZUOTO_TEST_ENGINES === '1',
      engineProcess: options.engineProcess ?? false,
    };
    this.#start();
  }

  call<N extends CallName>(name: N, request: CallInput<N>): Promise<CallResponse<N>> {
    const unavailable = this.#unavailable();
    if (unavailable) return Promise.reject(unavailable);
    return new Promise<CallResponse<N>>((resolve, reject) => {
      const id = this.#nextId++;
      const message: ToHost = { type: 'call', id, name, request };
      this.#pending.set(id, {
        message,
        sent: false,
        resolve: resolve as (response: unknown) => void,
        reject,
      });
      this.#flush();
    });
  }

  on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener as (data: never) => void));
    return () => {
      set.delete(listener as (data: never) => void);
    };
  }

  /** One request with its audio as an async iterator. */
  speak(request: CallInput<'speak'>, options: { signal?: AbortSignal } = {}): SpeakStream {
    return new SpeakStream(this, request, options.signal);
  }

  /** Force: end the host where it is and start a new one. What was running fails with `host_crashed`. */
  async restart(): Promise<void> {
    const unavailable = this.#state === 'broken' ? null : this.#unavailable();
    if (unavailable) throw unavailable;
    const worker = this.#detach();
    this.#crashes = 0;
    this.#failEverything(
      new StudioError('host_crashed', 'The engine host was restarted; what was running is lost.'),
    );
    await worker?.terminate();
    if (this.#restart) clearTimeout(this.#restart);
    this.#start();
  }

  /**
   * Cancels jobs, lets devices finish, and waits for it; a host that does not answer is ended after `seconds`, one that
   * has not begun at once.
   */
  close(seconds = 5): Promise<void> {
    this.#closed ??= this.#close(seconds * 1000);
    return this.#closed;
  }

  #unavailable(): StudioError | null {
    if (this.#state === 'closing' || this.#state === 'closed') {
      return new StudioError('host_unreachable', 'The studio is closing; nothing new is started.', {
        params: { reason: 'the studio is closing' },
      });
    }
    if (this.#state === 'broken') {
      return new StudioError(
        'host_unreachable',
        `The engine host crashed ${this.#crashes} times in a row and was not started again. Restart the studio; ` +
          'if it happens again, the log says where.',
        { params: { crashes: this.#crashes } },
      );
    }
    return null;
  }

  #start(): void {
    this.#state = 'starting';
    // A worker's changes to the environment are its own; libraries read the process's (see native/load.ts).
    process.env.GGML_CUDA_REGISTER_HOST ??= '1';
    const worker = new Worker(this.#workerPath, {
      workerData: this.#hostOptions,
      name: 'mizuoto-host',
      // Stray prints belong to the log, not to the standard output of a command.
      stdout: true,
      stderr: true,
    });
    this.#worker = worker;
    let lastError: Error | null = null;
    worker.on('message', (message: FromHost) => this.#receive(message));
    worker.on('messageerror', (error) =>
      this.#log('error', `A message of the host was unreadable: ${error.message}`),
    );
    worker.on('error', (error: Error) => {
      lastError = error;
    });
    worker.on('exit', (code) => {
      if (this.#worker === worker) this.#exited(code, lastError);
    });
    worker.stdout.on('data', (text: Buffer) => this.#log('info', text.toString().trimEnd()));
    worker.stderr.on('data', (text: Buffer) => this.#log('warning', text.toString().trimEnd()));
  }

  #receive(message: FromHost): void {
    if (message.type === 'ready') {
      if (this.#state !== 'starting') return;
      this.#state = 'ready';
      this.#calm = setTimeout(() => {
        this.#crashes = 0;
      }, this.#calmMs);
      this.#calm.unref();
      this.#flush();
    } else if (message.type === 'reply') {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (message.ok) pending?.resolve(message.response);
      else pending?.reject(StudioError.fromBody(message.error));
    } else if (message.type === 'event') this.#dispatch(message.name, message.data);
    else if (message.type === 'process') {
      serveProcess(() => this.#startProcess(message.program), message.port);
    }
  }

  #dispatch(name: EventName, data: unknown): void {
    const jobId = (data as { job_id?: string }).job_id;
    if (jobId !== undefined) {
      if (name === 'job.queued') this.#openJobs.add(jobId);
      else if (name === 'job.finished' || name === 'job.failed' || name === 'job.cancelled')
        this.#openJobs.delete(jobId);
    }
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        listener(data as never);
      } catch (error) {
        // One listener's mistake must not keep the event from the others.
        if (name !== 'log.line') this.#log('error', `A listener of ${name} failed: ${String(error)}`);
      }
    }
  }

  #flush(): void {
    if (this.#state !== 'ready') return;
    for (const [id, pending] of this.#pending) {
      if (pending.sent) continue;
      pending.sent = true;
      try {
        this.#worker!.postMessage(pending.message);
      } catch (error) {
        // A request that structured cloning refuses (a function, say) never reaches the host.
        this.#pending.delete(id);
        pending.reject(
          new StudioError('invalid_request', `The request cannot be sent: ${(error as Error).message}`),
        );
      }
    }
  }

  #exited(code: number, error: Error | null): void {
    this.#detach();
    if (this.#state === 'closing') return;
    this.#crashes++;
    const why = error ? (error.stack ?? error.message) : `exit code ${code}`;
    this.#log('error', `The engine host crashed: ${why}`);
    const delay = this.#restartDelays[this.#crashes - 1];
    this.#state = delay === undefined ? 'broken' : 'waiting';
    const next = delay === undefined ? 'Restart the studio.' : 'It is being restarted; try again.';
    this.#failEverything(
      new StudioError('host_crashed', `The engine host crashed while it was working. ${next}`, {
        detail: why,
        retryable: delay !== undefined,
      }),
    );
    if (delay !== undefined) this.#restart = setTimeout(() => this.#start(), delay * 1000);
  }

  #detach(): Worker | null {
    const worker = this.#worker;
    this.#worker = null;
    if (this.#calm) clearTimeout(this.#calm);
    this.#calm = null;
    return worker;
  }

  #failEverything(error: StudioError): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
    for (const job_id of [...this.#openJobs]) this.#dispatch('job.failed', { job_id, error: error.toBody() });
  }

  async #close(limitMs: number): Promise<void> {
    const worker = this.#worker;
    const begun = this.#state === 'ready';
    this.#state = 'closing';
    if (this.#restart) clearTimeout(this.#restart);
    if (worker) {
      const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      if (begun) worker.postMessage({ type: 'close' } satisfies ToHost);
      const timeout = setTimeout(() => void worker.terminate(), begun ? limitMs : 0);
      await exited;
      clearTimeout(timeout);
    }
    this.#detach();
    this.#failEverything(
      new StudioError('host_unreachable', 'The studio was closed before it could answer.'),
    );
    this.#state = 'closed';
  }

  #log(level: 'info' | 'warning' | 'error', message: string): void {
    if (message) this.#dispatch('log.line', { at: Date.now(), level, message });
  }
}

function workerUrl(given: string | URL | undefined): URL {
  if (given instanceof URL) return given;
  if (given !== undefined) return pathToFileURL(given);
  const places = ['./host-worker.mjs', '../main/host-worker.mjs'].map(
    (path) => new URL(path, import.meta.url),
  );
  const found = places.find((url) => existsSync(fileURLToPath(url)));
  if (found) return found;
  throw new StudioError(
    'host_unreachable',
    'host-worker.mjs is missing. Run "npm run setup" to build it again.',
    { params: { program: 'host-worker.mjs' } },
  );
}

import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { writeFileAtomic } from '../audio/atomic-file.ts';
import {
  type CallName,
  calls,
  type ErrorBody,
  type Incident,
  isOfFiles,
  type Said,
  type Settings,
  StudioError,
  sayOfError,
} from '../contract/index.ts';
import { engines } from '../engines/registry.ts';
import { nearest } from '../settings/nearest.ts';
import { isSettingKey } from '../settings/resolve.ts';
import { SettingsStore } from '../settings/store.ts';
import type { VoicePrompts } from '../voices/voice-prompts.ts';
import type { SpeechBackend } from './backend.ts';
import { diagnose } from './doctor/doctor.ts';
import { badRequest, toErrorBody } from './failures.ts';
import type { Handlers } from './handlers.ts';
import { type Emit, JobQueue } from './job-queue.ts';
import { Library } from './library.ts';
import type { HostOptions } from './protocol.ts';
import { resolveSpeech, resolveVerify, type SpeechWorld } from './speech-request.ts';
import { testModelEngines } from './testing/echo-engine.ts';
import { Throttle } from './throttle.ts';

export type Reply = { ok: true; response: unknown } | { ok: false; error: ErrorBody };

const runtimeIntervalMs = 100;
const keptWarnings = 20;
/** Largest WAV that one answer carries; beyond it the file is written by `jobs.export`. */
const maxWavBytes = 512 * 1024 * 1024;

/** The engine host: answers the contract's calls and sends its events. Knows nothing of what carries them. */
export class Host {
  readonly settings: SettingsStore;
  readonly handlers: Handlers;
  readonly #library: Library;
  readonly #closing = new AbortController();
  readonly #runtime = new Throttle<void>(() => void this.#sendSnapshot(), runtimeIntervalMs);
  #version = 0;
  /** What is wrong with the studio's own files, the latest first. */
  readonly #ofFiles: Incident[] = [];
  #backend: Promise<SpeechBackend> | null = null;
  #openedWith = '';
  /** Once made: what the backend promise holds. */
  #parts: { backend: SpeechBackend; jobs: JobQueue } | null = null;

  constructor(
    private readonly options: HostOptions,
    private readonly makeBackend: (
      options: HostOptions,
      log: Host['log'],
      settings: SettingsStore,
      voicePrompts: VoicePrompts,
    ) => Promise<SpeechBackend>,
    private readonly emit: Emit,
    /** Loads the graphics drivers in a process of its own, before this one does. */
    private readonly probeDrivers?: () => Promise<void>,
  ) {
    this.settings = new SettingsStore({
      folder: options.configFolder,
      warn: this.warn,
    });
    this.settings.onChange((settings) => {
      this.emit('settings.changed', settings);
      if (this.#parts) this.#configure(this.#parts.backend, settings);
      this.#changed();
    });
    const { configFolder, cacheFolder } = options;
    this.#library = new Library({
      configFolder,
      cacheFolder,
      engines: options.testEngines ? testModelEngines : engines,
      emit,
      warn: this.warn,
      unload: (model) => this.#unload(model),
      forget: (model) => this.#keepPin(model, false),
      signal: this.#closing.signal,
    });
    this.handlers = this.#table();
  }

  /** Before the stores, which may warn as they are opened. */
  readonly warn = (said: Said): void => this.log('warning', said.message, said);

  log = (level: 'info' | 'warning' | 'error', message: string, said?: Said): void => {
    // Whoever comes later is told as well.
    if (said !== undefined && isOfFiles(said)) {
      this.#ofFiles.unshift({ at: Date.now(), said });
      this.#ofFiles.splice(keptWarnings);
      this.#changed();
    }
    this.emit('log.line', { at: Date.now(), level, message, ...(said === undefined ? {} : { said }) });
  };

  /** Never rejects: every failure is a body. */
  async handle(name: string, request: unknown): Promise<Reply> {
    try {
      if (!Object.hasOwn(calls, name)) throw unknownCall(name);
      const known = name as CallName;
      const parsed = calls[known].request.safeParse(request);
      if (!parsed.success) throw badRequest(name, parsed.error);
      // The schema that parsed the request belongs to the handler of the same name.
      const handler = this.handlers[known] as (request: unknown) => Promise<unknown>;
      return { ok: true, response: await handler(parsed.data) };
    } catch (error) {
      const body = toErrorBody(error);
      if (body.code === 'internal') this.log('error', `${name}: ${body.detail ?? body.message}`);
      return { ok: false, error: body };
    }
  }

  async close(): Promise<void> {
    this.#runtime.cancel();
    this.#closing.abort();
    const parts = this.#backend && (await this.#open().catch(() => null));
    await parts?.jobs.close();
    await parts?.backend.close();
    this.#runtime.cancel();
  }

  async #open(): Promise<{ backend: SpeechBackend; jobs: JobQueue }> {
    // Devices are opened when they are first needed: settings and help work without them. A failure is tried again.
    if (this.#backend === null) {
      this.#openedWith = JSON.stringify(this.settings.get());
      this.#backend = this.makeBackend(this.options, this.log, this.settings, this.#library.prompts);
    }
    try {
      const backend = await this.#backend;
      this.#parts ??= this.#join(backend);
      return this.#parts;
    } catch (error) {
      this.#backend = null;
      throw error;
    }
  }

  #join(backend: SpeechBackend) {
    backend.onChange(() => this.#changed());
    // They may have changed while it opened.
    const settings = this.settings.get();
    if (JSON.stringify(settings) !== this.#openedWith) this.#configure(backend, settings);
    const { cacheFolder, keepAudio } = this.options;
    const jobs = new JobQueue({
      backend,
      emit: this.emit,
      onChange: () => this.#changed(),
      audioFolder: keepAudio ? join(cacheFolder, 'audio') : null,
    });
    return { backend, jobs };
  }

  #configure(backend: SpeechBackend, settings: Settings): void {
    backend
      .configure(settings)
      .catch((error: unknown) => this.warn(sayOfError('settings_not_applied', toErrorBody(error))));
  }

  #changed(): void {
    this.#version++;
    if (this.#parts) this.#runtime.push();
  }

  async #sendSnapshot(): Promise<void> {
    if (!this.#parts) return;
    try {
      this.emit('runtime.changed', await this.#snapshot(this.#parts));
    } catch (error) {
      // The engine is on its way back, which is a change of its own.
      if (!this.#closing.signal.aborted) this.log('info', `No snapshot: ${toErrorBody(error).message}`);
    }
  }

  async #snapshot({ backend, jobs }: { backend: SpeechBackend; jobs: JobQueue }) {
    const view = await backend.view();
    return {
      version: this.#version,
      at: Date.now(),
      ...view,
      incidents: [...view.incidents, ...this.#ofFiles].sort((a, b) => b.at - a.at),
      jobs: jobs.list().map((job) => job.record()),
    };
  }

  /** What a request can refer to now. */
  async #world(backend: SpeechBackend): Promise<SpeechWorld> {
    await this.#library.supply(backend);
    return { engines: backend.engines(), settings: this.settings.get(), ...(await this.#library.world()) };
  }

  async #unload(model: string): Promise<void> {
    const backend = this.#parts?.backend;
    const { models } = backend ? await backend.view() : { models: [] };
    if (models.some(({ id }) => id === model)) await backend?.unload(model);
  }

  #table(): Handlers {
    return {
      'host.info': async () => {
        const { backend } = await this.#open();
        return {
          version: packageJson.version,
          ggml: backend.ggmlVersion,
          platform: `${process.platform}-${process.arch}`,
          pid: process.pid,
        };
      },
      'engines.list': async () => {
        const { backend } = await this.#open();
        await this.#library.supply(backend);
        return { engines: backend.engines() };
      },
      ...this.#library.handlers,
      speak: async (request) => {
        const { backend, jobs } = await this.#open();
        const task = await resolveSpeech(request, await this.#world(backend));
        return { job_id: jobs.submit(task, request.source).id };
      },
      'jobs.list': async () => ({ jobs: (await this.#open()).jobs.list().map((job) => job.record()) }),
      'jobs.get': async ({ job_id }) => (await this.#open()).jobs.get(job_id).record(),
      'jobs.cancel': async ({ job_id }) => ({ state: (await this.#open()).jobs.cancel(job_id) }),
      'jobs.wav': async ({ job_id, encoding }) => {
        const audio = await this.#audio(job_id);
        if (audio.samples * 4 > maxWavBytes) {
          throw new StudioError(
            'invalid_request',
            `This audio is ${Math.round(audio.samples / audio.sampleRate / 60)} minutes long, too long for one answer. ` +
              'Save it to a file instead.',
            {
              params: {
                call: 'jobs.wav',
                field: 'job_id',
                seconds: Math.round(audio.samples / audio.sampleRate),
                minutes: Math.round(audio.samples / audio.sampleRate / 60),
              },
            },
          );
        }
        const pieces: Uint8Array[] = [];
        for await (const piece of audio.wav(encoding)) pieces.push(piece);
        // A copy of its own, so that it can be handed over without copying again.
        return { wav: new Uint8Array(Buffer.concat(pieces)) };
      },
      'jobs.export': async ({ job_id, path, encoding }) => {
        const audio = await this.#audio(job_id);
        return { path, bytes: await audio.export(path, encoding) };
      },
      'runtime.snapshot': async () => {
        const parts = await this.#open();
        // Another process may have changed them.
        this.settings.get();
        return this.#snapshot(parts);
      },
      'runtime.what_if': async (request) => (await this.#open()).backend.whatIf(request),
      'runtime.what_if_curve': async (request) => (await this.#open()).backend.whatIfCurve(request),
      'runtime.timeline': async (request) => (await this.#open()).backend.timeline(request),
      'runtime.trace': async () => (await this.#open()).backend.trace(),
      'runtime.export_trace': async ({ path }) => {
        const { backend } = await this.#open();
        const trace = Buffer.from(JSON.stringify(await backend.trace()));
        return { path, bytes: await writeFileAtomic(path, trace) };
      },
      'models.load': async ({ model }) => {
        const parts = await this.#open();
        await this.#library.supply(parts.backend);
        await parts.backend.load(model);
        return this.#snapshot(parts);
      },
      'models.unload': async ({ model }) => ({
        freed_bytes: await (await this.#open()).backend.unload(model),
      }),
      'models.pin': async ({ model, pinned }) => {
        const parts = await this.#open();
        await this.#library.supply(parts.backend);
        await parts.backend.pin(model, pinned);
        await this.#keepPin(model, pinned);
        return this.#snapshot(parts);
      },
      'verify.run': async (request) => {
        const { backend } = await this.#open();
        const task = resolveVerify(request, await this.#world(backend), this.settings.get());
        const runs = await backend.verify(task, (run) => this.emit('verify.run', run));
        return { ok: runs.every(({ ok }) => ok), runs };
      },
      'doctor.run': () =>
        diagnose({
          settings: this.settings,
          configFolder: this.options.configFolder,
          cacheFolder: this.options.cacheFolder,
          open: async () => (await this.#open()).backend,
          library: () => this.#library.findings(),
          warned: () => this.#ofFiles.map(({ said }) => said),
          // Where they are loaded already there is nothing to fear.
          ...(this.#parts || !this.probeDrivers ? {} : { probeDrivers: this.probeDrivers }),
        }),
      'settings.get': async () => this.settings.get(),
      'settings.set': async ({ patch }) => this.settings.set(patch),
    };
  }

  /** A pin survives the restart where its engine has a setting for it. */
  async #keepPin(model: string, pinned: boolean): Promise<void> {
    const key = `engines.${model.split(':', 1)[0]}.pinned_models`;
    if (!isSettingKey(key)) return;
    const before = this.settings.get()[key] as string[];
    if (before.includes(model) === pinned) return;
    const others = before.filter((other) => other !== model);
    await this.settings.set({ [key]: pinned ? [...others, model] : others });
  }

  async #audio(id: string) {
    const job = (await this.#open()).jobs.get(id);
    if (job.audio && (job.settled || job.state === 'stopping') && job.audio.samples > 0) return job.audio;
    const why =
      job.audio === null
        ? 'its audio is not kept here'
        : job.settled
          ? `it ended as ${job.state} before the first sound`
          : 'it is not finished yet';
    throw new StudioError('invalid_request', `There is no audio of this job: ${why}.`, {
      params: { call: 'jobs.wav', field: 'job_id', job_id: id, state: job.state, reason: why },
    });
  }
}

function unknownCall(name: string): StudioError {
  const near = nearest(name, Object.keys(calls));
  const help = near ? ` Did you mean "${near}"?` : '';
  return new StudioError('invalid_request', `There is no call named "${name.slice(0, 60)}".${help}`, {
    params: { call: name.slice(0, 60), unknown_call: name.slice(0, 60) },
  });
}

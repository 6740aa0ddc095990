import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CallRequest,
  CallResponse,
  EngineInfo,
  ModelSnapshot,
  SelfTest,
  Settings,
  VerifyRun,
} from '../../contract/index.ts';
import { StudioError, say } from '../../contract/index.ts';
import { engineInfo } from '../../engines/describe.ts';
import type { InstalledModel } from '../../models/types.ts';
import type {
  DeviceQueue,
  EngineTrial,
  RuntimeView,
  SpeechBackend,
  SpeechContext,
  SpeechOutcome,
  SpeechTask,
  SpokenChunk,
  VerifyTask,
} from '../backend.ts';
import { echoDescription, echoModels, heard, toneModel } from './echo-engine.ts';

const sampleRate = 16_000;
const sizeBytes = 4 * 1024 * 1024;
const mebibyte = 1024 * 1024;

/** What each voice does beside humming: how a test chooses the trouble it wants to see. */
const toneVoices = {
  tone: 'one steady tone per sentence',
  brief: 'ten samples per letter',
  slow: '80 ms of waiting per sentence',
  stall: 'waits after the first sentence until it is cancelled',
  deaf: 'waits after the first sentence and hears no cancel for a second',
  numb: 'waits after the first sentence and never hears a cancel',
  throw: 'throws a plain error after the first sentence',
  refuse: 'refuses the text before the first sentence',
  memory: 'runs out of device memory after the first sentence',
  nan: 'yields samples that are not numbers',
  crash: 'ends the whole host after the first sentence',
} as const;
type ToneModel = Pick<ModelSnapshot, 'state' | 'load_fraction' | 'last_used_at' | 'pinned'>;
type ToneVoice = keyof typeof toneVoices;

/** The same samples for the same sentence, seed, speed and pitch: half a second of a tone per ten letters. */
export function toneOf(
  sentence: string,
  task: Pick<SpeechTask, 'seed' | 'speed' | 'pitch'>,
): Float32Array<ArrayBuffer> {
  const samples = new Float32Array(
    Math.max(1, Math.round((sentence.length * 0.05 * sampleRate) / task.speed)),
  );
  const hertz = (110 + (task.seed % 97) + (sentence.length % 31)) * task.pitch;
  for (let n = 0; n < samples.length; n++)
    samples[n] = 0.25 * Math.sin((2 * Math.PI * hertz * n) / sampleRate);
  return samples;
}

function toneRun(engine: string, run: 'plain' | 'streamed'): VerifyRun {
  const plain = run === 'plain';
  const differs = !plain && engine === 'hum';
  return {
    engine,
    run,
    stage: null,
    device: plain ? 'CPU' : 'Simulated0',
    device_mb: plain ? null : 4,
    streamed_mb: plain ? 0 : 4,
    resident_mb: plain ? 4 : 0,
    mapped_mb: 0,
    seconds: 0.01,
    retries: 0,
    samples: 1000,
    against: plain ? null : 'CPU plain',
    identical: plain ? null : !differs,
    first_difference: differs ? 123 : null,
    differing_samples: differs ? 1 : 0,
    largest_difference: plain ? null : differs ? 0.25 : 0,
    same_device: true,
    ok: !differs,
    error: null,
  };
}

function* sentences(text: string): Generator<string> {
  for (const match of text.matchAll(/[^.!?]+[.!?]*\s*/g)) yield match[0].trim();
}

/**
 * An engine without weights, devices or stages, for tests of everything around engines. Deterministic; each trouble is
 * a voice. Not phased: it asks for its one model as a whole.
 */
export class ToneBackend implements SpeechBackend {
  readonly ggmlVersion = 'none';
  #listener: () => void = () => {};
  #model: ToneModel | null = null;
  #pinned = false;
  #added: readonly InstalledModel[] = [];
  readonly #closing = new AbortController();
  settings: Settings | null = null;

  engines(): EngineInfo[] {
    const speakers = Object.entries(toneVoices).map(([id, description]) => ({
      id,
      name: id,
      language: 'en',
      description,
    }));
    const parameters: EngineInfo['parameters'] = [
      { key: 'speed', minimum: 0.5, maximum: 2, step: 0.05, default: 1 },
      { key: 'pitch', minimum: 0.5, maximum: 2, step: 0.05, default: 1 },
      { key: 'seed', minimum: 0, maximum: 2 ** 32 - 1, step: 1, default: null },
      { key: 'voice', default: 'tone' },
    ];
    const tone = { name: 'Tone', description: 'A tone per sentence.', licence: 'Apache-2.0', parameters };
    const hum = { ...tone, name: 'Hum', description: 'A tone that cannot change.', parameters: [] };
    return [
      engineInfo({ id: 'tone', description: tone }, [toneModel('tone', { speakers }, sizeBytes)]),
      engineInfo({ id: 'hum', description: hum }, [toneModel('hum', { speakers })]),
      engineInfo({ id: 'echo', description: echoDescription }, [
        ...echoModels(speakers.slice(0, 2)),
        ...this.#added,
      ]),
    ];
  }

  setModels(models: readonly InstalledModel[]): void {
    this.#added = models;
  }

  queueFor(_engine: string, settings: Settings): DeviceQueue {
    const simulated = settings['compute.simulate_vram_mb'] !== null;
    return { id: simulated ? 'Simulated0' : 'CPU', slots: settings['compute.gpu_jobs'] };
  }

  async *speak(task: SpeechTask, context: SpeechContext): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const voice = (task.voice || 'tone') as ToneVoice;
    let total = 0;
    for (const _ of sentences(task.text)) total++;
    const progress = (state: 'loading' | 'running', stage: string | null, done: number) =>
      context.progress({ state, stage, fraction: done / total, chunksDone: done, chunksTotal: total });
    progress('loading', null, 0);
    await this.load('tone');
    this.#set({ state: 'in_use' });
    try {
      let done = 0;
      for (const sentence of sentences(task.text)) {
        context.signal.throwIfAborted();
        progress('running', 'tone', done);
        if (voice === 'slow') await sleep(80, undefined, { signal: context.signal });
        if (voice === 'refuse') {
          throw new StudioError(
            'text_not_speakable',
            'The tone engine refuses this text. Choose another voice.',
          );
        }
        const whole = toneOf(sentence, task);
        const samples = voice === 'brief' ? whole.slice(0, sentence.length * 10) : whole;
        if (voice === 'nan') samples[samples.length >> 1] = Number.NaN;
        yield { samples, text: sentence };
        done++;
        await this.#trouble(voice, context.signal);
        // Other messages are read between sentences, as they are while a device computes.
        if (done % 16 === 0) await sleep(0);
      }
    } finally {
      this.#set({ state: 'idle', last_used_at: Date.now() });
    }
    return {
      applied: {
        speed: task.speed,
        pitch: task.pitch,
        ...(task.engine === 'echo' ? heard(task) : {}),
      },
      memory: {
        device: 'CPU',
        streamed_mb: 0,
        loaded_mb: 4,
        mapped_mb: 0,
        size_mb: 4,
        peak_mb: 4,
        partial: {},
      },
      warnings: [],
    };
  }

  async #trouble(voice: ToneVoice, signal: AbortSignal): Promise<void> {
    if (voice === 'stall') await sleep(600_000, undefined, { signal });
    if (voice === 'deaf') await sleep(1000);
    if (voice === 'numb') await sleep(600_000);
    if (voice === 'throw') throw new TypeError('scripted failure');
    if (voice === 'memory') {
      throw Object.assign(new Error('Needed 700 MiB on CPU, 200 MiB were free.'), {
        code: 'OutOfDeviceMemory',
        details: { needed: 700 * mebibyte, available: 200 * mebibyte },
      });
    }
    if (voice === 'crash') {
      setImmediate(() => {
        throw new Error('scripted crash');
      });
      await sleep(10_000);
    }
  }

  /** `tone` is the same everywhere; `hum` differs at one sample on the simulated device. */
  async verify(task: VerifyTask, onRun: (run: VerifyRun) => void): Promise<VerifyRun[]> {
    if (task.text === 'stall') await sleep(600_000, undefined, { signal: this.#closing.signal });
    const runs = task.engines
      .filter((engine) => engine !== 'echo')
      .flatMap((engine) => [toneRun(engine, 'plain'), toneRun(engine, 'streamed')]);
    for (const run of runs) onRun(run);
    return runs;
  }

  async tryEngines(): Promise<EngineTrial[]> {
    return [{ engine: 'tone', name: 'Tone', bytes: sizeBytes, seconds: 0, error: null }];
  }

  async selfTest(): Promise<SelfTest[]> {
    const numbers = { largest_difference: 0, identical: null, copy_mb_per_second: null };
    const offers = { async: false, host_buffers: false, host_pointer: true, events: false };
    const capabilities = { ...offers, dtypes: ['f32', 'f16', 'bf16'] };
    return [{ device: 'CPU', passed: true, ...numbers, capabilities, seconds: 0, error: null }];
  }

  view(): RuntimeView {
    const loaded = this.#model && this.#model.state !== 'loading' ? sizeBytes : 0;
    const held = { weights: loaded, slots: 0, compute: 0, io: 0, state: 0 };
    const device = {
      id: 'CPU',
      description: 'Test device',
      kind: 'cpu' as const,
      simulated: false,
      unified: false,
    };
    const model = { id: 'tone', engine: 'tone', name: 'Tone', device: 'CPU', size_bytes: sizeBytes };
    const bytes = { loaded_bytes: loaded, streamed_bytes: 0, host_bytes: 0, mapped_bytes: 0 };
    return {
      devices: [
        {
          ...device,
          used: true,
          why: 'asked for',
          reason: say('device_asked_for'),
          total_bytes: 1024 * mebibyte,
          free_bytes: 1024 * mebibyte - loaded,
          held,
          others_bytes: 0,
          reserve_bytes: 0,
        },
      ],
      host: {
        total_bytes: 1024 * mebibyte,
        available_bytes: 512 * mebibyte,
        process_bytes: 64 * mebibyte,
        pinned_bytes: 0,
        pin_budget_bytes: 0,
        reserve_bytes: 0,
      },
      models: this.#model
        ? [
            {
              ...model,
              ...bytes,
              ...this.#model,
              components: [],
              calibration: { state: 'not_needed', runs: 0, ratio: 1 },
            },
          ]
        : [],
      policy: { 'compute.vram_mode': this.settings?.['compute.vram_mode'] ?? 'auto' },
      policy_notes: [],
      incidents: [],
    };
  }

  whatIf({ device }: CallRequest<'runtime.what_if'>): CallResponse<'runtime.what_if'> {
    return { device, total_bytes: 1024 * mebibyte, models: [], unknown: this.#model ? ['tone'] : [] };
  }

  async whatIfCurve({
    device,
  }: CallRequest<'runtime.what_if_curve'>): Promise<CallResponse<'runtime.what_if_curve'>> {
    return { device, total_bytes: 1024 * mebibyte, curves: [] };
  }

  timeline({ since }: CallRequest<'runtime.timeline'>): CallResponse<'runtime.timeline'> {
    const { held, others_bytes: others } = this.view().devices[0]!;
    const { weights, slots, state } = held;
    const at = Date.now();
    const sample = { at, device: 'CPU', weights, slots, working: 0, state, others };
    const components: [string, number][] = weights > 0 ? [['tone:tone', weights]] : [];
    const devices = [{ id: 'CPU', total_bytes: 1024 * mebibyte }];
    return { at, events: [], samples: since < at ? [{ ...sample, components }] : [], devices };
  }

  trace(): CallResponse<'runtime.trace'> {
    return { version: 1, events: [], plans: [] };
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  async load(model: string): Promise<void> {
    this.#known(model);
    if (this.#model) return;
    this.#set({ state: 'loading', load_fraction: 0 });
    await sleep(5);
    this.#set({ state: 'idle', load_fraction: 1 });
  }

  async unload(model: string): Promise<number> {
    this.#known(model);
    const freed = this.#model ? sizeBytes : 0;
    this.#model = null;
    this.#listener();
    return freed;
  }

  async pin(model: string, pinned: boolean): Promise<void> {
    this.#known(model);
    this.#pinned = pinned;
    if (this.#model) this.#set({ pinned });
  }

  async configure(settings: Settings): Promise<void> {
    this.settings = settings;
    this.#listener();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#model = null;
  }

  #known(model: string): void {
    if (model !== 'tone') throw new StudioError('unknown_engine', `There is no model named "${model}".`);
  }

  #set(change: Partial<ToneModel>): void {
    const fresh = {
      state: 'idle' as const,
      load_fraction: 1,
      last_used_at: Date.now(),
      pinned: this.#pinned,
    };
    this.#model = { ...fresh, ...this.#model, ...change };
    this.#listener();
  }
}

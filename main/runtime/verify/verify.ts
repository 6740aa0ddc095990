import type { Addon, DeviceInfo } from '../../../native/addon.ts';
import { type ErrorBody, StudioError } from '../../contract/errors.ts';
import type { Settings } from '../../contract/settings.ts';
import type { VerifyRun } from '../../contract/verify.ts';
import { MiB } from '../../memory/policy.ts';
import { sharesMemory } from '../device-service.ts';
import { compareSamples } from './compare.ts';
import { type Spoken, speakOnce, type VerifySubject } from './speak-once.ts';

export interface VerifyOptions {
  addon: Addon;
  /** In force for every run, beside what the run is about. */
  settings: Settings;
  /** Keys of `settings` that were asked for; a device size among them asks for a run of its own. */
  asked: readonly string[];
  signal: AbortSignal;
  toErrorBody: (error: unknown) => ErrorBody;
  /** Verifies one graphics device elsewhere, in a process that its driver may crash; default: here. */
  onDevice?: (device: DeviceInfo, plain: PlainRun) => AsyncIterable<VerifyRun>;
}

/** What the processor spoke, and the bytes of the model and of its working memory: what graphics devices are held to. */
export type PlainRun = Pick<Spoken, 'samples' | 'sizeBytes' | 'workingBytes'>;

interface Way {
  run: VerifyRun['run'];
  device: string;
  settings: Partial<Settings>;
  failing?: string;
  /** `sameDevice`: nothing may differ. */
  against?: { name: string; samples: Float32Array; sameDevice: boolean };
}

const real = { 'compute.simulate_vram_mb': null, 'compute.vram_limit_mb': null } as const;

/**
 * One request, in every way that memory can be managed: plain on the processor; on simulated devices with all units
 * streamed, with room for half, with room for all, with weights that are not copied because memory is shared, and with
 * memory that runs out in each stage; on every graphics device placed and streamed, and in place where it shares memory.
 * Yields each run compared with the first of its kind.
 */
export async function* verifySubject(
  subject: VerifySubject,
  options: VerifyOptions,
): AsyncGenerator<VerifyRun, void, void> {
  const plainSettings = { ...real, 'compute.device': 'CPU', 'compute.vram_mode': 'auto' } as const;
  const plain = await speak(subject, options, { run: 'plain', device: 'CPU', settings: plainSettings });
  yield plain.row;
  if (plain.spoken === null) return;
  yield* onSimulated(subject, options, plain.spoken);
  for (const device of graphicsDevices(options)) {
    yield* options.onDevice?.(device, plain.spoken) ?? onGraphics(subject, options, device, plain.spoken);
  }
}

async function* onSimulated(
  subject: VerifySubject,
  options: VerifyOptions,
  { samples, sizeBytes, workingBytes }: Spoken,
): AsyncGenerator<VerifyRun, void, void> {
  const against = { name: 'CPU plain', samples, sameDevice: true };
  // Only what is used is taken from RAM: a device that is too large costs nothing.
  const roomy = Math.ceil((2 * sizeBytes + 8 * workingBytes) / MiB) + 256;
  const sized = (megabytes: number, mode: Settings['compute.vram_mode']): Partial<Settings> => ({
    'compute.device': 'auto',
    'compute.simulate_vram_mb': megabytes,
    'compute.vram_limit_mb': null,
    'compute.vram_mode': mode,
    'compute.vram_reserve_mb': 0,
    'compute.oom_retry': true,
  });
  const way = (run: Way['run'], settings: Partial<Settings>, failing?: string): Way => {
    return { run, device: 'Simulated0', settings, against, ...(failing === undefined ? {} : { failing }) };
  };
  const streamed = await speak(subject, options, way('streamed', sized(roomy, 'none')));
  yield streamed.row;
  if (streamed.spoken !== null) {
    const half = halfway(streamed.spoken);
    yield (await speak(subject, options, way('halfway', sized(half, 'normal')))).row;
  }
  const whole = await speak(subject, options, way('whole', sized(roomy, 'normal')));
  yield whole.row;
  yield (await speak(subject, options, way('shared', sized(roomy, 'shared')))).row;
  for (const { name } of whole.spoken?.stages ?? []) {
    yield (await speak(subject, options, way('out of memory', sized(roomy, 'normal'), name))).row;
  }
  if (options.asked.includes('compute.simulate_vram_mb')) {
    yield (await speak(subject, options, way('as set', { 'compute.device': 'auto' }))).row;
  }
}

/** MiB halfway between what the request takes all streamed and its largest stage whole. */
function halfway({ memory, stages }: Spoken): number {
  const whole = Math.max(0, ...stages.map(({ wholeBytes }) => wholeBytes ?? 0)) / MiB;
  return Math.max(memory.peak_mb, (memory.peak_mb + whole) / 2);
}

function graphicsDevices({ addon, settings, asked }: VerifyOptions): DeviceInfo[] {
  const found = addon.devices().filter(({ kind }) => kind !== 'cpu');
  const wanted = settings['compute.device'].toLowerCase();
  if (!asked.includes('compute.device') || wanted === 'auto') return found;
  return found.filter(({ name }) => name.toLowerCase() === wanted);
}

/** The runs of one graphics device: placed as far as it fits, all streamed, and in place where it shares memory. */
export async function* onGraphics(
  subject: VerifySubject,
  options: VerifyOptions,
  device: DeviceInfo,
  plain: PlainRun,
): AsyncGenerator<VerifyRun, void, void> {
  const settings = (mode: Settings['compute.vram_mode']): Partial<Settings> => ({
    ...real,
    'compute.device': device.name,
    'compute.vram_mode': mode,
  });
  const first = await speak(subject, options, {
    run: 'resident',
    device: device.name,
    settings: settings('normal'),
    against: { name: 'CPU plain', samples: plain.samples, sameDevice: false },
  });
  // What it was shows when it is over.
  if (first.row.streamed_mb > 0) first.row.run = 'partly';
  yield first.row;
  if (first.spoken === null) return;
  const against = {
    name: `${device.name} ${first.row.run}`,
    samples: first.spoken.samples,
    sameDevice: true,
  };
  const others = [
    { run: 'streamed', mode: 'none' },
    ...(sharesMemory(device) ? [{ run: 'shared', mode: 'shared' } as const] : []),
  ] as const;
  for (const { run, mode } of others) {
    const way: Way = { run, device: device.name, settings: settings(mode), against };
    yield (await speak(subject, options, way)).row;
  }
}

async function speak(
  subject: VerifySubject,
  { addon, settings, signal, toErrorBody }: VerifyOptions,
  way: Way,
): Promise<{ row: VerifyRun; spoken: Spoken | null }> {
  const { failing = null } = way;
  const own = { ...settings, ...way.settings };
  const simulated = own['compute.simulate_vram_mb'];
  const base = {
    engine: subject.engine,
    run: way.run,
    stage: failing,
    device: way.device,
    device_mb: simulated === null ? null : Math.round(simulated * 1000) / 1000,
    against: way.against?.name ?? null,
    same_device: way.against?.sameDevice ?? true,
  };
  try {
    const spoken = await speakOnce(subject, { addon, settings: own, signal, failing });
    const used = {
      streamed_mb: spoken.memory.streamed_mb,
      resident_mb: spoken.memory.loaded_mb,
      mapped_mb: spoken.memory.mapped_mb,
      seconds: spoken.seconds,
      retries: spoken.retries,
      samples: spoken.samples.length,
      error: null,
    };
    return { row: { ...base, ...used, ...judged(spoken, way) }, spoken };
  } catch (error) {
    if (signal.aborted) throw new StudioError('cancelled', 'Cancelled; the verification is not complete.');
    return { row: { ...base, ...failure, error: toErrorBody(error) }, spoken: null };
  }
}

const failure = {
  streamed_mb: 0,
  resident_mb: 0,
  mapped_mb: 0,
  seconds: 0,
  retries: 0,
  samples: 0,
  identical: null,
  first_difference: null,
  differing_samples: 0,
  largest_difference: null,
  ok: false,
} as const;

/** The row of a graphics device whose driver ended the run; `done` runs of it had come before. */
export function brokenRun(engine: string, device: string, done: number, error: ErrorBody): VerifyRun {
  const run = (['resident', 'streamed'] as const)[done] ?? 'shared';
  return {
    engine,
    run,
    stage: null,
    device,
    device_mb: null,
    against: done === 0 ? 'CPU plain' : `${device} resident`,
    same_device: done !== 0,
    ...failure,
    error,
  };
}

type Verdict = Pick<
  VerifyRun,
  'identical' | 'first_difference' | 'differing_samples' | 'largest_difference' | 'ok'
>;

function judged({ samples }: Spoken, { against }: Way): Verdict {
  // What others are measured by must at least be sound.
  const sounds = samples.length > 0 && samples.every(Number.isFinite) && samples.some((value) => value !== 0);
  if (against === undefined) {
    return {
      identical: null,
      first_difference: null,
      differing_samples: 0,
      largest_difference: null,
      ok: sounds,
    };
  }
  const { identical, first, count, largest } = compareSamples(samples, against.samples);
  return {
    identical,
    first_difference: first,
    differing_samples: count,
    // JSON knows no infinity.
    largest_difference: Number.isFinite(largest) ? largest : null,
    // Another device adds in another order: a phase drifts, a token is drawn otherwise. That is no fault.
    ok: against.sameDevice ? identical : sounds,
  };
}

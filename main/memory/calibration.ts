import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { type Said, say } from '../contract/said.ts';
import { fileReason } from '../settings/file-reason.ts';

/** Format of `calibration.json`; files of another version are ignored, and the next write replaces them. */
export const calibrationVersion = 2;

const factor = z.number().finite().nonnegative();
const stageSchema = z.object({
  /** What estimates of this stage are multiplied with; above 1 after one measurement above the estimate. */
  ratio: factor,
  /** The same after a device refused memory, until the stage has run whole and was measured. */
  refused: factor.optional(),
  /** Largest measured / estimated so far. */
  highest: factor,
  runs: z.number().int().nonnegative(),
  /** Per size of request (half octaves of the estimate): only there may a reservation shrink. */
  buckets: z.record(z.string(), z.object({ highest: factor, runs: z.number().int().nonnegative() })),
});
const deviceSchema = z.object({
  /** Bytes per millisecond. */
  copy_rate: factor.nullable(),
  /** Measured with pinned and with pageable sources: says whether pinning helps on this machine. */
  pinned_rate: factor.nullable(),
  pageable_rate: factor.nullable(),
  stages: z.record(z.string(), stageSchema),
  /** Compute time of each unit in milliseconds, by component and the sizes of its units. */
  units: z.record(z.string(), z.array(factor)),
});
const fileSchema = z.object({
  version: z.literal(calibrationVersion),
  /** By backend, device and driver: what was measured on another one says nothing. */
  devices: z.record(z.string(), deviceSchema),
});
type CalibrationFile = z.infer<typeof fileSchema>;
type DeviceEntry = z.infer<typeof deviceSchema>;
type StageEntry = z.infer<typeof stageSchema>;

export type CalibrationState = 'none' | 'calibrated' | 'stale';

/** Measurements above the estimate are kept with this margin, up to this factor. */
const margin = 1.1;
const maxRatio = 16;
/** After a refusal at least what was asked for until then is missing; how much more, nobody knows yet. */
const refusalMargin = 1.5;
/** A reservation shrinks only after this many measurements of requests of its size. */
export const runsToShrink = 3;
/** Pinned memory is taken from everything else on the machine: less gain than this is not worth it. */
const worthPinning = 1.05;
/**
 * Smaller estimates teach nothing: padding and least sizes of buffers are most of what they measure, and the ratio holds for
 * requests of every size, so that a stage of a few KiB could multiply the reservation of gigabytes. What is not learned
 * is less than `maxRatio` times this: 1 MiB.
 */
const minEstimate = 64 * 1024;

export interface CalibrationOptions {
  /** `<cache>/memory/calibration.json`; null keeps everything in memory. */
  file: string | null;
  warn?: (said: Said) => void;
  /** Delay between a measurement and the write that saves it. */
  saveDelayMs?: number;
}

/** What was learned of working memory, copy rates and unit times; kept between runs. */
export class Calibration {
  readonly #file: string | null;
  readonly #warn: (said: Said) => void;
  readonly #saveDelayMs: number;
  #data: CalibrationFile = { version: calibrationVersion, devices: {} };
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #dirty = false;

  private constructor(options: CalibrationOptions) {
    this.#file = options.file;
    this.#warn = options.warn ?? (() => {});
    this.#saveDelayMs = options.saveDelayMs ?? 1000;
  }

  /** Reads the file; whatever is wrong with it costs one warning and the measurements, never the start. */
  static async open(options: CalibrationOptions): Promise<Calibration> {
    const calibration = new Calibration(options);
    if (options.file !== null) calibration.#data = await read(options.file, calibration.#warn);
    return calibration;
  }

  static inMemory(): Calibration {
    return new Calibration({ file: null });
  }

  /**
   * The reservation for a stage whose estimate is `estimate` bytes.
   *
   * @param goesOn its body goes on in later stages: what such a part took is no reason to reserve less for another one.
   */
  reserve(device: string, key: string, stage: string, estimate: number, goesOn = false): number {
    const entry = this.#data.devices[device]?.stages[key];
    if (entry === undefined || estimate < minEstimate) return estimate;
    const ratio = Math.max(entry.ratio, entry.refused ?? 0);
    if (ratio > 1) return Math.ceil(estimate * ratio);
    if (goesOn) return estimate;
    const bucket = entry.buckets[bucketOf(stage, estimate)];
    if (bucket === undefined || bucket.runs < runsToShrink) return estimate;
    return Math.ceil(estimate * Math.min(1, bucket.highest * margin));
  }

  /** True while measurements of this size of request would still change something: scratch memory starts empty then. */
  wantsMeasuring(device: string, key: string, stage: string, estimate: number): boolean {
    if (estimate < minEstimate) return false;
    const entry = this.#data.devices[device]?.stages[key];
    const bucket = entry?.buckets[bucketOf(stage, estimate)];
    return bucket === undefined || bucket.runs < runsToShrink || entry?.refused !== undefined;
  }

  /**
   * A device refused memory to a stage that needs `atLeast` bytes. Returns true when its reservation grew. Not a run:
   * what the stage needs in all is not known.
   */
  refused(device: string, key: string, estimate: number, atLeast: number): boolean {
    if (estimate < minEstimate || !(atLeast > 0)) return false;
    const entry = this.#stage(device, key);
    const before = Math.max(entry.ratio, entry.refused ?? 0);
    entry.ratio = Math.min(maxRatio, Math.max(entry.ratio, (atLeast / estimate) * margin));
    entry.refused = Math.min(maxRatio, Math.max(before, entry.ratio * refusalMargin));
    this.#changed();
    return entry.refused > before;
  }

  /**
   * Returns true when the reservation of this stage grew.
   *
   * @param keptBytes what the stage left behind on purpose (compiled graphs, caches). It is no reason to grow, and
   *   none to shrink: the next stage may have to make it anew.
   */
  measured(
    device: string,
    key: string,
    stage: string,
    estimate: number,
    bytes: number,
    keptBytes = 0,
  ): boolean {
    if (estimate < minEstimate || !(bytes >= 0)) return false;
    const entry = this.#stage(device, key);
    const ratio = bytes / estimate;
    entry.runs += 1;
    entry.highest = Math.max(entry.highest, ratio);
    const name = bucketOf(stage, estimate);
    const bucket = entry.buckets[name] ?? { highest: 0, runs: 0 };
    entry.buckets[name] = {
      highest: Math.max(bucket.highest, ratio + keptBytes / estimate),
      runs: bucket.runs + 1,
    };
    const before = entry.ratio;
    delete entry.refused;
    if (ratio > 1) entry.ratio = Math.min(maxRatio, Math.max(entry.ratio, ratio * margin));
    this.#changed();
    return entry.ratio > before && entry.ratio > 1;
  }

  stage(device: string, key: string): { state: CalibrationState; runs: number; ratio: number } {
    const entry = this.#data.devices[device]?.stages[key];
    if (entry !== undefined && entry.runs > 0) {
      return {
        state: entry.runs >= runsToShrink ? 'calibrated' : 'none',
        runs: entry.runs,
        ratio: entry.highest,
      };
    }
    const elsewhere = Object.entries(this.#data.devices).some(
      ([name, other]) => name !== device && sameHardware(name, device) && (other.stages[key]?.runs ?? 0) > 0,
    );
    return { state: elsewhere ? 'stale' : 'none', runs: 0, ratio: 0 };
  }

  copyRate(device: string): number | null {
    return this.#data.devices[device]?.copy_rate ?? null;
  }

  noteCopyRate(device: string, bytesPerMs: number): void {
    if (!(bytesPerMs > 0)) return;
    this.#device(device).copy_rate = bytesPerMs;
    this.#changed();
  }

  /** The rate of a stage's streamed copies, all of them from pinned sources or none. */
  noteSourceRate(device: string, pinned: boolean, bytesPerMs: number): void {
    if (!(bytesPerMs > 0)) return;
    this.#device(device)[pinned ? 'pinned_rate' : 'pageable_rate'] = bytesPerMs;
    this.#changed();
  }

  /** Whether copies from pinned memory are worth taking it from others; null until both kinds were measured here. */
  pinningHelps(device: string): boolean | null {
    const { pinned_rate = null, pageable_rate = null } = this.#data.devices[device] ?? {};
    if (pinned_rate === null || pageable_rate === null) return null;
    return pinned_rate > worthPinning * pageable_rate;
  }

  unitTimes(device: string, key: string, unitBytes: readonly number[]): readonly number[] | null {
    const times = this.#data.devices[device]?.units[unitKey(key, unitBytes)];
    return times !== undefined && times.length === unitBytes.length ? times : null;
  }

  noteUnitTimes(
    device: string,
    key: string,
    unitBytes: readonly number[],
    computeMs: readonly number[],
  ): void {
    this.#device(device).units[unitKey(key, unitBytes)] = [...computeMs];
    this.#changed();
  }

  /** Writes what is not yet written. A failure is a warning: measurements can be made again. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#file !== null && this.#dirty) {
      this.#dirty = false;
      const file = this.#file;
      const text = `${JSON.stringify(this.#data)}\n`;
      this.#writing = this.#writing
        .then(() => writeAtomic(file, text))
        .catch((error: unknown) => {
          this.#warn(say('calibration_unsaved', { path: file, reason: fileReason(error, 'writing') }));
        });
    }
    await this.#writing;
  }

  #device(name: string): DeviceEntry {
    this.#data.devices[name] ??= {
      copy_rate: null,
      pinned_rate: null,
      pageable_rate: null,
      stages: {},
      units: {},
    };
    return this.#data.devices[name];
  }

  #stage(device: string, key: string): StageEntry {
    const { stages } = this.#device(device);
    stages[key] ??= { ratio: 1, highest: 0, runs: 0, buckets: {} };
    return stages[key];
  }

  #changed(): void {
    this.#dirty = true;
    if (this.#file === null || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, this.#saveDelayMs);
    this.#timer.unref();
  }
}

function bucketOf(stage: string, estimate: number): string {
  return `${stage}|${Math.round(2 * Math.log2(estimate))}`;
}

/** Device keys are `backend/device/driver`: the same hardware with another driver makes a measurement stale. */
function sameHardware(a: string, b: string): boolean {
  const hardware = (key: string): string => key.slice(0, key.lastIndexOf('/'));
  return hardware(a) === hardware(b);
}

function unitKey(key: string, unitBytes: readonly number[]): string {
  let hash = 0x811c9dc5;
  for (const bytes of unitBytes) hash = Math.imul(hash ^ (bytes % 0x7fffffff), 0x01000193) >>> 0;
  return `${key}#${unitBytes.length}-${hash.toString(16)}`;
}

async function read(file: string, warn: (said: Said) => void): Promise<CalibrationFile> {
  const empty: CalibrationFile = { version: calibrationVersion, devices: {} };
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      warn(say('calibration_unreadable', { path: file, reason: fileReason(error, 'reading') }));
    }
    return empty;
  }
  try {
    const parsed = fileSchema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Falls through to the one warning.
  }
  warn(say('calibration_damaged', { path: file }));
  return empty;
}

/** A reader sees the old file or the new one, never half of one. */
async function writeAtomic(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

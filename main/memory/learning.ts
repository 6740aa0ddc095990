import type { Calibration } from './calibration.ts';
import type { DeviceBook } from './device-book.ts';
import { StageMeasurement } from './measure.ts';
import type { ModelHandle } from './model-handle.ts';
import { isOutOfDeviceMemory, neededAtLeast } from './out-of-memory.ts';
import { mib, reason } from './planner/reasons.ts';
import type { StageFailure } from './stages.ts';
import type { Trace } from './trace.ts';

/** A stage that is over. */
interface EndedStage {
  name: string;
  handles: readonly ModelHandle[];
  disturbed: boolean;
  failure: StageFailure | null;
  /** Working memory: what its engine said, and what was reserved for it. Bytes. */
  estimate: number;
  reserved: number;
  /** Whether all of what streamed is pinned (true), or nothing (false). */
  pinned: boolean | null;
}

/** What is learned from stages, and used for the next ones: working memory, copy rates, unit times. */
export class StageLearning {
  readonly #calibration: Calibration;
  readonly #trace: Trace;
  /** What stages took of scratch memory and kept graphs when they last had to make them, and estimated. Bytes. */
  readonly #left = new Map<string, { scratch: number; graphs: number; estimate: number }>();

  constructor(calibration: Calibration, trace: Trace) {
    this.#calibration = calibration;
    this.#trace = trace;
  }

  /** Reservation for a stage that estimates `memory` bytes. */
  reserve(
    book: DeviceBook,
    handles: readonly ModelHandle[],
    { name, goesOn }: { name: string; goesOn?: boolean },
    memory: number,
  ): number {
    const key = mainComponent(handles).calibrationKey;
    return this.#calibration.reserve(book.key, key, name, Math.ceil(memory), goesOn);
  }

  /** Most of the idle scratch memory and of the kept graphs that serves this stage again; 0 until it has run. */
  reusable(book: DeviceBook, handles: readonly ModelHandle[], name: string, memory: number): number {
    const left = this.#left.get(leftKey(book, handles, name));
    if (left === undefined) return 0;
    const share = left.estimate > memory ? memory / left.estimate : 1;
    const bytes = Math.min(share * left.scratch, book.arenaBytes) + Math.min(left.graphs, book.cachedBytes);
    return Math.floor(bytes);
  }

  /** A stage alone on its device that would still teach something runs with empty scratch memory, to be measured. */
  wantsMeasuring(book: DeviceBook, handles: readonly ModelHandle[], name: string, memory: number): boolean {
    if (book.active.size > 0) return false;
    return this.#calibration.wantsMeasuring(book.key, mainComponent(handles).calibrationKey, name, memory);
  }

  unitTimes(book: DeviceBook, handle: ModelHandle): readonly number[] | null {
    return this.#calibration.unitTimes(book.key, handle.calibrationKey, handle.unitBytes);
  }

  /** Call it when everything is in its place. */
  begin(book: DeviceBook, handles: readonly ModelHandle[], residency: 'rule' | 'cost'): StageMeasurement {
    const unmeasured = handles.filter(
      (handle) => handle.unitCount > 0 && this.unitTimes(book, handle) === null,
    );
    return new StageMeasurement(book, residency === 'cost' ? unmeasured : []);
  }

  /** Resolves the measured working memory; null where nothing could be measured, or the stage failed. */
  end(measurement: StageMeasurement, stage: EndedStage): number | null {
    const { book } = measurement;
    const { name, estimate, failure } = stage;
    if (failure !== null) this.#learnFrom(failure, measurement, stage);
    else if (!stage.disturbed) this.#noteLeft(measurement, stage);
    const measured = measurement.end(this.#calibration, stage.disturbed, stage.pinned);
    if (measured === null || failure !== null) return null;
    const { bytes, keptBytes } = measured;
    const key = mainComponent(stage.handles).calibrationKey;
    if (this.#calibration.measured(book.key, key, name, estimate, bytes, keptBytes)) {
      const why = reason('calibrated', { name, bytes: mib(bytes), estimate: mib(estimate) });
      this.#trace.add({ kind: 'calibration', device: book.id, subject: key, bytes, why });
    }
    return bytes;
  }

  /** Where it found what it needed, nothing new is known. */
  #noteLeft(measurement: StageMeasurement, { handles, name, estimate }: EndedStage): void {
    const key = leftKey(measurement.book, handles, name);
    const before = this.#left.get(key) ?? { scratch: 0, graphs: 0, estimate };
    const left = measurement.left();
    const graphs = Math.max(before.graphs, left.graphs);
    if (left.scratch === null) this.#left.set(key, { ...before, graphs });
    else this.#left.set(key, { scratch: left.scratch, graphs, estimate });
  }

  #learnFrom(
    { error, retried = false }: StageFailure,
    measurement: StageMeasurement,
    stage: EndedStage,
  ): void {
    if (!isOutOfDeviceMemory(error)) return;
    const { book } = measurement;
    const { name, handles, disturbed, estimate, reserved } = stage;
    const refused = { ...measurement.soFar(), reserved, disturbed, retried };
    const needed = neededAtLeast(error, refused);
    const key = mainComponent(handles).calibrationKey;
    if (needed === null || !this.#calibration.refused(book.key, key, estimate, needed)) return;
    const next = this.reserve(book, handles, { name }, estimate);
    const why = reason('refused', { name, device: book.id, reserved: mib(reserved), next: mib(next) });
    this.#trace.add({ kind: 'calibration', device: book.id, subject: key, bytes: next, why });
  }
}

function leftKey(book: DeviceBook, handles: readonly ModelHandle[], name: string): string {
  return JSON.stringify([book.key, mainComponent(handles).id, name]);
}

/** The component that gives a stage its name in the measurements: the largest. */
export function mainComponent(handles: readonly ModelHandle[]): ModelHandle {
  return handles.reduce((largest, handle) => (handle.sizeBytes > largest.sizeBytes ? handle : largest));
}

import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';

/** What this process held on a device from this moment to the next sample, bytes. */
export interface HeldSample {
  /** Milliseconds since the epoch. */
  at: number;
  device: string;
  weights: number;
  slots: number;
  /** Scratch memory, inputs and outputs. */
  working: number;
  state: number;
  others: number;
  /** `weights` by component. */
  components: [id: string, bytes: number][];
}

export interface HistoryOptions {
  /** Samples kept per device; the oldest go first. */
  capacity?: number;
  /** A device is not looked at more often than this, whatever happens. */
  restMs?: number;
  now?: () => number;
}

/** Other programs breathe; less than this share of the device is not worth a sample. */
const noise = 0.005;

interface Record {
  samples: HeldSample[];
  lookedAt: number;
}

/** The course of each device's memory: sampled when something happens to it, and now and then in between. */
export class HeldHistory {
  readonly #devices = new Map<string, Record>();
  readonly #capacity: number;
  readonly #restMs: number;
  readonly #now: () => number;

  constructor(options: HistoryOptions = {}) {
    this.#capacity = options.capacity ?? 2048;
    this.#restMs = options.restMs ?? 50;
    this.#now = options.now ?? Date.now;
  }

  /** Looks at a device unless that was just done; true where something had changed. Asks the driver: never call it per unit. */
  look(book: DeviceBook, handles: readonly ModelHandle[]): boolean {
    const at = this.#now();
    const record = this.#devices.get(book.id) ?? { samples: [], lookedAt: Number.NEGATIVE_INFINITY };
    this.#devices.set(book.id, record);
    if (at - record.lookedAt < this.#restMs) return false;
    record.lookedAt = at;
    const sample = sampleOf(book, handles, at);
    const last = record.samples.at(-1);
    if (last !== undefined && isSame(last, sample, noise * book.device.memory().totalBytes)) return false;
    record.samples.push(sample);
    if (record.samples.length > this.#capacity) record.samples.shift();
    return true;
  }

  /** Samples of every device that were taken later than `since`, oldest first. */
  samples(since = 0): HeldSample[] {
    const all = [...this.#devices.values()].flatMap(({ samples }) => samples.filter(({ at }) => at > since));
    return all.sort((a, b) => a.at - b.at);
  }
}

function sampleOf(book: DeviceBook, handles: readonly ModelHandle[], at: number): HeldSample {
  const { held, totalBytes, freeBytes } = book.device.memory();
  const { slots, state } = held;
  const working = held.compute + held.io;
  const components = handles
    .filter((handle) => handle.device === book.device && !handle.disposed && handle.loadedBytes > 0)
    .map((handle): [string, number] => [handle.id, handle.loadedBytes]);
  const placed = components.reduce((sum, [, bytes]) => sum + bytes, 0);
  // On the processor weights lie where their file is mapped: nothing is counted, and yet they are there.
  const weights = book.device.isHost ? Math.max(held.weights, placed) : held.weights;
  const others = Math.max(0, totalBytes - freeBytes - held.weights - slots - working - state);
  return { at, device: book.id, weights, slots, working, state, others, components };
}

function isSame(a: HeldSample, b: HeldSample, tolerance: number): boolean {
  const own =
    a.weights === b.weights && a.slots === b.slots && a.working === b.working && a.state === b.state;
  if (!own || Math.abs(a.others - b.others) > tolerance || a.components.length !== b.components.length)
    return false;
  return a.components.every(([id, bytes], index) => {
    const [otherId, otherBytes] = b.components[index]!;
    return id === otherId && bytes === otherBytes;
  });
}

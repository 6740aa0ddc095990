import type { Arena, Device, StreamerOptions } from '../../native/addon.ts';
import { Lock } from './lock.ts';
import type { ModelHandle } from './model-handle.ts';
import { isOutOfDeviceMemory } from './out-of-memory.ts';
import { joinSlots, slotBytesOf } from './planner/slots.ts';
import type { PlannerDevice, Prediction, Slots } from './planner/types.ts';
import { isUnified, MiB, reserveInForce, type VramPolicy } from './policy.ts';

/** A stage that runs now: what it holds on a device. */
export interface ActiveStage {
  name: string;
  /** The request that it belongs to; stages of one request may nest. */
  owner: string;
  handles: readonly ModelHandle[];
  workingBytes: number;
  slots: Slots | null;
  /** Another stage ran beside it: its measurements are not its own. */
  disturbed: boolean;
}

/** Something on the device that can be made again: compiled graphs kept for the next request. */
export interface DeviceCache {
  /** Bytes on the device, without scratch memory. */
  readonly ioBytes: number;
  /** Gives everything back that nobody uses now. */
  drop(): void;
}

/** What the manager knows of one device: the device, its scratch memory, who runs there. */
export class DeviceBook {
  readonly device: Device;
  /** Memory shared with the processor. */
  readonly unified: boolean;
  /** Of its measurements: backend, device and driver. */
  readonly key: string;
  readonly lock = new Lock();
  readonly active = new Set<ActiveStage>();
  readonly #caches = new Set<DeviceCache>();
  readonly #waiting: { priority: number; wake: () => void }[] = [];
  #arena: Arena | null = null;
  #streamer: StreamerOptions | null = null;
  #copiedBytes = 0;
  #copySeconds = 0;

  constructor(device: Device, options: { unified?: boolean; driver?: string } = {}) {
    this.device = device;
    const { backend, description } = device.info();
    this.unified = options.unified ?? isUnified(device.kind, backend);
    this.key = `${backend}/${device.simulated ? 'simulated' : description}/${options.driver ?? ''}`;
  }

  /** A simulated device has a name of its own, so that nobody takes it for the processor. */
  get id(): string {
    return this.device.simulated ? 'Simulated0' : this.device.name;
  }

  get arena(): Arena {
    this.#arena ??= this.device.createArena();
    return this.#arena;
  }

  get arenaBytes(): number {
    return this.#arena?.bytes ?? 0;
  }

  /** Counts as free memory while no stage runs, and is dropped before a stage goes without. Returns what removes it. */
  addCache(cache: DeviceCache): () => void {
    this.#caches.add(cache);
    return () => this.#caches.delete(cache);
  }

  get cachedBytes(): number {
    let bytes = 0;
    for (const cache of this.#caches) bytes += cache.ioBytes;
    return bytes;
  }

  get streamer(): StreamerOptions | null {
    return this.#streamer;
  }

  /** What is kept free for others. */
  reserveBytes(policy: Pick<VramPolicy, 'reserveBytes' | 'limitBytes'>): number {
    return reserveInForce(policy, this.device.memory().totalBytes);
  }

  /** Uploads in bytes per millisecond; null before a few MiB have been measured. */
  get copyRate(): number | null {
    if (this.#copiedBytes < 4 * MiB || this.#copySeconds <= 0) return this.#rememberedRate;
    return this.#copiedBytes / this.#copySeconds / 1000;
  }

  #rememberedRate: number | null = null;

  /** What other programs held, by time of looking; the highest of the last while counts. */
  readonly #foreign: { at: number; bytes: number }[] = [];

  noteForeign(now: number, keepMs: number): void {
    const { totalBytes, freeBytes, held } = this.device.memory();
    const own = held.weights + held.slots + held.compute + held.io + held.state;
    this.#foreign.push({ at: now, bytes: Math.max(0, totalBytes - freeBytes - own) });
    while (this.#foreign.length > 1 && this.#foreign[0]!.at < now - keepMs) this.#foreign.shift();
  }

  /** Bytes by which other programs grew since they held least, in the time that is looked at. */
  get foreignGrowth(): number {
    const sizes = this.#foreign.map(({ bytes }) => bytes);
    return sizes.length < 2 ? 0 : sizes.at(-1)! - Math.min(...sizes);
  }

  /** Most that other programs held lately: what they gave back is left to them for a while. */
  get foreignPeakBytes(): number {
    return Math.max(0, ...this.#foreign.map(({ bytes }) => bytes));
  }

  /** A rate measured in an earlier run, until this one has its own. */
  rememberCopyRate(bytesPerMs: number): void {
    this.#rememberedRate = bytesPerMs;
  }

  /** Predicted against measured time of the last stage that had a prediction; null before the first. */
  lastPrediction: { predictedMs: number; measuredMs: number } | null = null;

  notePrediction(prediction: Prediction | null, measuredMs: number): void {
    if (prediction !== null)
      this.lastPrediction = { predictedMs: prediction.totalMs - prediction.uploadMs, measuredMs };
  }

  noteCopies(bytes: number, seconds: number): void {
    this.#copiedBytes += bytes;
    this.#copySeconds += seconds;
  }

  plannerDevice(): PlannerDevice {
    const memory = this.device.memory();
    const { held } = memory;
    const working = held.compute + held.io + held.state;
    const heldBytes = working + held.weights + held.slots;
    const promised = [...this.active].reduce((bytes, stage) => bytes + stage.workingBytes, 0);
    const inUse = this.slotsInUse();
    return {
      id: this.id,
      totalBytes: memory.totalBytes,
      driverFreeBytes: Math.min(memory.freeBytes, memory.totalBytes - heldBytes - this.foreignPeakBytes),
      heldBytes,
      scratchBytes: this.active.size === 0 ? this.arenaBytes + this.cachedBytes : 0,
      idleSlotBytes: Math.max(0, held.slots - slotBytesOf(inUse)),
      idleSlots: inUse === null ? this.#slots : null,
      promisedBytes: Math.max(0, promised - (this.active.size === 0 ? 0 : working)),
      copyRate: this.copyRate,
    };
  }

  /** Slots that running stages need, all together. */
  slotsInUse(): Slots | null {
    let slots: Slots | null = null;
    for (const stage of this.active) slots = joinSlots(slots, stage.slots);
    return slots;
  }

  /** Slots that are there. */
  get #slots(): Slots | null {
    const now = this.#streamer;
    return now && { count: now.slots, bytes: now.slotBytes, prefetch: now.prefetch };
  }

  /** Say which units stream next, in this order: the device copies the first ones ahead. */
  expect(units: readonly (readonly [ModelHandle, number])[]): void {
    if (units.length === 0 && !this.#expects) return;
    this.#expects = units.length > 0;
    this.device.expectUnits(units.map(([{ store }, unit]) => [store, unit]));
  }

  #expects = false;

  /** Make the slots that `wanted` and all running stages need. What is there is kept while it serves. */
  async ensureSlots(wanted: Slots): Promise<boolean> {
    const needed = joinSlots(this.slotsInUse(), wanted)!;
    const now = this.#streamer;
    if (
      now !== null &&
      now.slots === needed.count &&
      now.prefetch === needed.prefetch &&
      now.slotBytes >= needed.bytes
    ) {
      const excess = now.slots * (now.slotBytes - needed.bytes);
      if (excess <= now.slots * 64 * 1024) return false;
    }
    await this.#setStreamer({ slots: needed.count, slotBytes: needed.bytes, prefetch: needed.prefetch });
    return true;
  }

  /**
   * Give back scratch memory, and slots that neither a running stage nor the one to come (`keep`; `all`: those that are
   * there) uses. Resolves with the bytes freed.
   */
  async trim(keep: Slots | null | 'all' = null): Promise<number> {
    const before = this.device.memory().held;
    if (this.active.size === 0) {
      for (const cache of this.#caches) cache.drop();
      if (this.arenaBytes > 0) await this.#arena?.trim();
    }
    if (keep !== 'all' && this.#streamer !== null) {
      const needed = joinSlots(this.slotsInUse(), keep);
      if (needed === null) await this.#setStreamer(null);
      else if (slotBytesOf(needed) < slotBytesOf(this.#slots)) {
        // Whoever gives memory back has not run out of it: where smaller slots cannot be made, the old ones stay.
        await this.ensureSlots(needed).catch((error: unknown) => {
          if (!isOutOfDeviceMemory(error)) throw error;
        });
      }
    }
    const after = this.device.memory().held;
    return before.compute + before.io + before.slots - after.compute - after.io - after.slots;
  }

  async #setStreamer(options: StreamerOptions | null): Promise<void> {
    const before = this.#streamer;
    this.#streamer = null;
    try {
      await this.device.setStreamer(options);
      this.#streamer = options;
    } catch (error) {
      // What a lost device holds goes when it is closed: whoever gives something up there has nothing to do.
      if (options === null && (error as { code?: unknown }).code === 'DeviceLost') return;
      // Where another stage streams, its slots come back; where even they do not fit, the device has none.
      if (this.device.memory().held.slots > 0) this.#streamer = before;
      throw error;
    }
  }

  /** Unit times are measured while on. */
  profile(on: boolean): void {
    this.device.setProfiling(on);
  }

  begin(stage: ActiveStage): void {
    this.active.add(stage);
    for (const handle of stage.handles) handle.holders += 1;
    if (this.active.size > 1) for (const other of this.active) other.disturbed = true;
  }

  end(stage: ActiveStage): void {
    if (!this.active.delete(stage)) return;
    for (const handle of stage.handles) handle.holders -= 1;
    for (const { wake } of [...this.#waiting]) wake();
  }

  /** Resolves when a stage ends, larger priorities first; `cancel` stops waiting. */
  nextRelease(priority = 0): { promise: Promise<void>; cancel: () => void } {
    let cancel!: () => void;
    const promise = new Promise<void>((resolve) => {
      const entry = {
        priority,
        wake: () => {
          const index = this.#waiting.indexOf(entry);
          if (index >= 0) this.#waiting.splice(index, 1);
          resolve();
        },
      };
      const after = this.#waiting.findIndex((other) => other.priority < priority);
      this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, entry);
      cancel = entry.wake;
    });
    return { promise, cancel };
  }

  async dispose(): Promise<void> {
    this.#arena?.dispose();
    this.#arena = null;
    this.#streamer = null;
    await this.device.close();
  }
}

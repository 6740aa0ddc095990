import { StudioError } from '../contract/errors.ts';
import type { Settings } from '../contract/settings.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { policyFromSettings } from '../memory/policy.ts';
import type { DeviceService } from './device-service.ts';
import type { Lease, LoadedModel, LoadedParts, ModelSource } from './model-source.ts';
import { SaidPins } from './said-pins.ts';

interface Entry extends Omit<LoadedModel, 'state' | 'handles' | 'loadFraction' | 'lastUsedAt'> {
  version: string | undefined;
  phase: 'loading' | 'ready' | 'unloading';
  handles: ModelHandle[];
  loadFraction: number;
  lastUsedAt: number;
  users: number;
  loaded: Promise<LoadedParts<unknown>>;
  parts: LoadedParts<unknown> | null;
  gone: Promise<void> | null;
  removeCaches: (() => void)[];
  onIdle: Set<() => void>;
}

export interface LoadedModelsOptions {
  manager: ModelManager;
  hostMemory: () => { totalBytes: number; availableBytes: number; processBytes: number };
  settings: () => Settings;
  devices: Pick<DeviceService, 'pinToCpu'>;
  changed: () => void;
  now?: () => number;
}

const idleCheckMs = 15_000;

/** Which models are loaded, who uses them, and which of them have to go. */
export class LoadedModels {
  readonly #options: LoadedModelsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #pins = new SaidPins();
  #idleTimer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: LoadedModelsOptions) {
    this.#options = options;
    this.#watchIdle();
  }

  list(): LoadedModel[] {
    return [...this.#entries.values()].map((entry) => ({
      ...entry,
      state: entry.phase === 'ready' ? (entry.users > 0 ? 'in_use' : 'idle') : entry.phase,
    }));
  }

  isPinned(model: string): boolean {
    const said = this.#pins.get(model);
    if (said !== undefined) return said;
    const engine = model.split(':', 1)[0];
    const key = `engines.${engine}.pinned_models`;
    const list = (this.#options.settings() as Record<string, unknown>)[key];
    return Array.isArray(list) && list.includes(model);
  }

  pin(model: string, pinned: boolean): void {
    this.#pins.set(model, pinned);
    this.#options.changed();
  }

  /** New settings are in force; what the window said of pins holds unless they say something new about them. */
  settingsChanged(before: Settings): void {
    this.#pins.settingsChanged(before, this.#options.settings());
    this.#options.manager.limitPins();
    this.#watchIdle();
  }

  /** Idle models on other devices are unloaded: the settings no longer mean those. */
  async leaveOthers(book: DeviceBook): Promise<void> {
    for (const entry of this.#idle()) if (entry.book !== book) await this.#removeIdle(entry);
  }

  /** All that has something on this device is unloaded: it is closed next, and nobody uses it any more. */
  async leaveDevice(book: DeviceBook): Promise<void> {
    for (const entry of [...this.#entries.values()]) {
      await entry.loaded.catch(() => {});
      const there = entry.book === book || entry.handles.some(({ device }) => device === book.device);
      if (there && this.#entries.get(entry.id) === entry) await this.#remove(entry);
    }
  }

  /** Loads the model where it is not, waits where it is loading or has to come from another device or other files. */
  async acquire<T>(source: ModelSource<T>, book: DeviceBook, signal?: AbortSignal): Promise<Lease<T>> {
    for (;;) {
      if (this.#closed) throw new StudioError('host_unreachable', 'The studio is closing.');
      if (signal?.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
      const entry = this.#entries.get(source.id);
      if (entry === undefined) {
        await this.#makeRoom(source.id);
        if (!this.#entries.has(source.id)) this.#begin(source, book, signal);
        continue;
      }
      if (entry.gone !== null) await entry.gone;
      else if (entry.book !== book || entry.version !== source.version) await this.#leave(entry, signal);
      else {
        const lease = await this.#lease<T>(entry, signal);
        if (lease !== null) return lease;
      }
    }
  }

  /** Null where another request began to load it and was cancelled. */
  async #lease<T>(entry: Entry, signal: AbortSignal | undefined): Promise<Lease<T> | null> {
    entry.users += 1;
    this.#options.changed();
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      entry.users -= 1;
      entry.lastUsedAt = this.#now();
      if (entry.users === 0) for (const wake of [...entry.onIdle]) wake();
      this.#options.changed();
    };
    try {
      const parts = (await entry.loaded) as LoadedParts<T>;
      entry.lastUsedAt = this.#now();
      return { value: parts.value, handles: parts.handles, release };
    } catch (error) {
      release();
      const cancelled = (error as { code?: unknown }).code;
      if ((cancelled === 'cancelled' || cancelled === 'Cancelled') && !signal?.aborted) return null;
      throw error;
    }
  }

  #begin<T>(source: ModelSource<T>, book: DeviceBook, signal: AbortSignal | undefined): void {
    const { id, engine, name, version } = source;
    let start!: () => void;
    const entry: Entry = {
      id,
      engine,
      name,
      version,
      book,
      phase: 'loading',
      handles: [],
      loadFraction: 0,
      lastUsedAt: this.#now(),
      users: 0,
      loaded: new Promise<void>((resolve) => {
        start = resolve;
      }).then(() => this.#load(entry, source, signal)),
      parts: null,
      gone: null,
      removeCaches: [],
      onIdle: new Set(),
    };
    this.#entries.set(id, entry);
    entry.loaded.catch(() => {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
      this.#options.changed();
    });
    start();
    this.#options.changed();
  }

  async #load<T>(
    entry: Entry,
    source: ModelSource<T>,
    signal: AbortSignal | undefined,
  ): Promise<LoadedParts<T>> {
    const progress = (fraction: number): void => {
      entry.loadFraction = Math.min(1, Math.max(entry.loadFraction, fraction));
      this.#options.changed();
    };
    const { devices } = this.#options;
    const parts = await source.load({ book: entry.book, devices, signal, progress });
    for (const handle of parts.handles) this.#options.manager.register(handle);
    for (const cache of parts.caches ?? []) entry.removeCaches.push(entry.book.addCache(cache));
    entry.handles = parts.handles;
    entry.parts = parts;
    entry.phase = 'ready';
    entry.loadFraction = 1;
    const bytes = parts.handles.reduce((sum, handle) => sum + handle.sizeBytes, 0);
    this.#trace('load', entry, bytes);
    parts.sound?.catch(() => this.#whenIdle(entry));
    await this.relieveRam(entry.id);
    return parts;
  }

  /** Removes a model that cannot be used, so that its files are read anew. */
  #whenIdle(entry: Entry): void {
    const leave = (): void => {
      if (entry.users > 0) return;
      entry.onIdle.delete(leave);
      void this.#remove(entry).catch(() => {});
    };
    entry.onIdle.add(leave);
    leave();
  }

  async #leave(entry: Entry, signal: AbortSignal | undefined): Promise<void> {
    if (entry.users === 0 && entry.phase === 'ready') {
      await this.#remove(entry);
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        entry.onIdle.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      entry.onIdle.add(wake);
      signal?.addEventListener('abort', wake);
      entry.loaded.catch(wake);
    });
  }

  // Leaving

  /** @throws StudioError when it is not loaded or in use. */
  async unload(model: string): Promise<number> {
    const entry = this.#entries.get(model);
    if (entry === undefined) throw unknownModel(model);
    if (entry.users > 0 || entry.phase === 'loading') {
      throw new StudioError(
        'invalid_request',
        `"${model}" is in use. Stop its jobs first, or wait for them to end.`,
        {
          params: { model, in_use: model },
          retryable: true,
        },
      );
    }
    return this.#remove(entry);
  }

  /** All that nobody uses, pinned ones too. `deviceMemory`: only what may hold memory of a device other than the processor. */
  async unloadIdle({ deviceMemory = false } = {}): Promise<number> {
    let freed = 0;
    for (const entry of this.#idle()) {
      if (!(deviceMemory && entry.book.device.isHost)) freed += await this.#removeIdle(entry);
    }
    return freed;
  }

  /** At most `compute.max_resident_models`; nothing in use ever goes. */
  async enforceLimits(): Promise<void> {
    await this.#makeRoom(null);
  }

  /**
   * While available RAM is below the reserve: first the host copies of components that are whole on a device go, then
   * idle models that are not pinned are unloaded, least recently used first. What a device uses where it lies has no
   * copy to drop; where memory is shared, what leaves the device is given back, too.
   * Resolves with the bytes of host memory given back.
   */
  async relieveRam(except: string | null = null): Promise<number> {
    const memory = this.#options.hostMemory();
    const { ramReserveBytes } = policyFromSettings(this.#options.settings(), memory.totalBytes);
    let freed = 0;
    const short = (): boolean => this.#options.hostMemory().availableBytes < ramReserveBytes;
    if (policyFromSettings(this.#options.settings(), memory.totalBytes).hostCopies !== 'on') {
      for (const entry of this.#entries.values()) {
        if (entry.phase !== 'ready') continue;
        for (const handle of entry.handles) {
          if (short() && handle.isWhole) freed += await this.#options.manager.dropHost(handle);
        }
      }
    }
    for (const entry of this.#idle()) {
      if (!short()) break;
      if (entry.id === except || this.isPinned(entry.id)) continue;
      const shared = entry.book.unified;
      if (!isIdle(entry)) continue;
      for (const handle of entry.handles) freed += handle.hostBytes + (shared ? handle.loadedBytes : 0);
      await this.#remove(entry);
    }
    return freed;
  }

  /** From now on no model is given to anyone. */
  refuse(): void {
    this.#closed = true;
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer);
    this.#idleTimer = null;
  }

  /** Unloads everything; what is in use, once it is not. What still is after `limitMs` stays. */
  async close(limitMs: number): Promise<void> {
    this.refuse();
    const limit = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref());
    for (const entry of [...this.#entries.values()]) {
      await Promise.race([limit, entry.loaded.catch(() => {})]);
      if (entry.users > 0) await Promise.race([limit, nextIdle(entry)]);
      if (entry.users === 0 && this.#entries.get(entry.id) === entry) await this.#remove(entry);
    }
  }

  /** Unpinned before pinned, least recently used first. */
  #idle(): Entry[] {
    return [...this.#entries.values()]
      .filter(isIdle)
      .sort(
        (a, b) => Number(this.isPinned(a.id)) - Number(this.isPinned(b.id)) || a.lastUsedAt - b.lastUsedAt,
      );
  }

  async #makeRoom(forModel: string | null): Promise<void> {
    const limit = this.#options.settings()['compute.max_resident_models'];
    const wanted = forModel === null ? limit : limit - 1;
    for (const entry of this.#idle()) {
      if (this.#entries.size <= wanted) return;
      await this.#removeIdle(entry);
    }
  }

  /** Of several that are idle, one may be taken into use, or be on its way, while another goes: then it stays. */
  async #removeIdle(entry: Entry): Promise<number> {
    return isIdle(entry) ? this.#remove(entry) : 0;
  }

  #remove(entry: Entry): Promise<number> {
    if (entry.phase === 'unloading') return entry.gone!.then(() => 0);
    entry.phase = 'unloading';
    let freed = 0;
    entry.gone = (async () => {
      const before = this.#freeBytes(entry.book);
      try {
        for (const remove of entry.removeCaches) remove();
        await entry.parts?.unload?.();
        for (const handle of entry.handles) await this.#options.manager.unregister(handle);
        await entry.book.lock.run(() => entry.book.trim());
      } finally {
        if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
      }
      freed = Math.max(0, this.#freeBytes(entry.book) - before);
      this.#trace('unload', entry, -freed);
      this.#options.changed();
    })();
    this.#options.changed();
    return entry.gone.then(() => freed);
  }

  /** As the driver (on the processor: the system) reports it. */
  #freeBytes(book: DeviceBook): number {
    return book.device.isHost ? -this.#options.hostMemory().processBytes : book.device.memory().freeBytes;
  }

  #watchIdle(): void {
    const minutes = this.#options.settings()['compute.unload_after_minutes'];
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer);
    this.#idleTimer = null;
    if (minutes === null) return;
    this.#idleTimer = setInterval(() => void this.unloadOlderThan(minutes * 60_000), idleCheckMs);
    this.#idleTimer.unref();
  }

  /** Idle models that are not pinned and were last used longer ago than this. */
  async unloadOlderThan(ms: number): Promise<void> {
    for (const entry of this.#idle()) {
      if (!this.isPinned(entry.id) && this.#now() - entry.lastUsedAt >= ms) await this.#removeIdle(entry);
    }
  }

  #trace(kind: 'load' | 'unload', entry: Entry, bytes: number): void {
    this.#options.manager.trace.add({ kind, device: entry.book.id, subject: entry.id, bytes });
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

function nextIdle(entry: Entry): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      entry.onIdle.delete(wake);
      resolve();
    };
    entry.onIdle.add(wake);
  });
}

function isIdle(entry: Entry): boolean {
  return entry.phase === 'ready' && entry.users === 0;
}

export function unknownModel(id: string): StudioError {
  return new StudioError('invalid_request', `No model "${id}" is loaded.`, {
    params: { model: id, not_loaded: id },
  });
}

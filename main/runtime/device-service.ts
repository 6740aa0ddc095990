import type { Addon, Device, DeviceInfo } from '../../native/addon.ts';
import { StudioError } from '../contract/errors.ts';
import { type Said, say } from '../contract/said.ts';
import type { Settings } from '../contract/settings.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { pin } from '../memory/pinned.ts';
import { isUnified, MiB } from '../memory/policy.ts';
import type { Module } from '../nn/module.ts';
import { checkContradictions } from './contradictions.ts';
import { lostForGood } from './lost-device.ts';

/** Which device a set of settings means. */
export interface DeviceChoice {
  name: string;
  threads: number | null;
  simulateBytes: number | null;
  /** The simulated device shares the processor's memory. */
  unified: boolean;
  /** Why this one. */
  why: Said;
}

export interface DeviceServiceOptions {
  addon: Addon;
  manager: ModelManager;
  settings: () => Settings;
  /** Unloads every model that has something on this device; nothing uses it any more. */
  leave: (book: DeviceBook) => Promise<void>;
  /** A device that was lost is open again. */
  reopened: (device: string) => void;
  /** Devices that `compute.device` auto passes over. */
  passOver: readonly string[];
}

/** Opens devices when they are first needed and gives each to the memory manager; closes them at the end. */
export class DeviceService {
  readonly #addon: Addon;
  readonly #manager: ModelManager;
  readonly #settings: () => Settings;
  readonly #open = new Map<string, Promise<DeviceBook>>();
  readonly #opened = new Map<string, DeviceBook>();
  /** By the keys of `#open`: how many requests wait for a device or work on it. */
  readonly #claims = new Map<string, number>();
  readonly #unclaimed = new Map<string, Set<() => void>>();
  /** Devices that stopped responding. */
  readonly #lost = new Set<DeviceBook>();
  readonly #reopening = new Map<string, Promise<void>>();
  readonly #leave: DeviceServiceOptions['leave'];
  readonly #reopened: DeviceServiceOptions['reopened'];
  #passOver: ReadonlySet<string>;

  constructor({ addon, manager, settings, leave, reopened, passOver }: DeviceServiceOptions) {
    this.#addon = addon;
    this.#manager = manager;
    this.#settings = settings;
    this.#leave = leave;
    this.#reopened = reopened;
    this.#passOver = new Set(passOver);
  }

  get passOver(): ReadonlySet<string> {
    return this.#passOver;
  }

  set passOver(devices: Iterable<string>) {
    this.#passOver = new Set(devices);
  }

  /** Every device of this machine, opened or not. */
  infos(): DeviceInfo[] {
    return this.#addon.devices();
  }

  get opened(): DeviceBook[] {
    return [...this.#opened.values()];
  }

  /**
   * The device that these settings mean, opened.
   * @throws StudioError `device_not_found`, `contradictory_settings`, `backend_missing`.
   */
  async forSettings(settings: Settings): Promise<DeviceBook> {
    const { book, release } = await this.claim(settings);
    release();
    return book;
  }

  /**
   * The same, and it stays open until `release`, whichever devices other requests ask for meanwhile.
   * @throws StudioError `device_not_found`, `contradictory_settings`, `backend_missing`.
   */
  async claim(settings: Settings): Promise<{ book: DeviceBook; release: () => void }> {
    checkContradictions(settings, this.#addon.hostMemory().totalBytes);
    const choice = chooseDevice(settings, this.infos(), this.#passOver);
    const key = keyOf(choice);
    await this.#healed(key);
    this.#claims.set(key, (this.#claims.get(key) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      const left = (this.#claims.get(key) ?? 1) - 1;
      if (left > 0) {
        this.#claims.set(key, left);
        return;
      }
      this.#claims.delete(key);
      for (const wake of this.#unclaimed.get(key) ?? []) wake();
    };
    try {
      const book = await this.#book(choice);
      await this.#closeUnused(book);
      return { book, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * All below `module` stays on the processor and never moves: a large table of which a request reads a few rows, or what
   * no other device computes. Say it before `loadComponent`, for the root of a component. Resolves with the processor,
   * whose graphs the module takes part in.
   */
  async pinToCpu(module: Module): Promise<DeviceBook> {
    const processor = await this.#book({
      name: 'CPU',
      threads: this.#settings()['compute.threads'],
      simulateBytes: null,
      unified: false,
      why: say('device_asked_for'),
    });
    pin(module, processor.device);
    return processor;
  }

  /**
   * This device stopped responding. Where it can be opened anew in this process, whoever claims it next waits until
   * those who still use it are gone, and gets it afresh. False where it stays lost: its driver keeps its state in the
   * process.
   */
  markLost(book: DeviceBook): boolean {
    if (this.opened.includes(book)) this.#lost.add(book);
    return reopens(book);
  }

  /** @throws StudioError `device_lost` where only another process can have it again. */
  async #healed(key: string): Promise<void> {
    const book = this.#opened.get(key);
    if (book === undefined || !this.#lost.has(book)) return this.#reopening.get(key);
    if (!reopens(book)) throw lostForGood(book.id);
    const reopening = this.#reopening.get(key) ?? this.#reopen(key, book);
    this.#reopening.set(key, reopening);
    try {
      await reopening;
    } finally {
      this.#reopening.delete(key);
    }
  }

  /** Closes it once nobody claims it; opening it again is like the first time. */
  async #reopen(key: string, book: DeviceBook): Promise<void> {
    while (this.#claims.has(key)) {
      const waiting = this.#unclaimed.get(key) ?? new Set();
      this.#unclaimed.set(key, waiting);
      await new Promise<void>((resolve) => waiting.add(resolve));
      this.#unclaimed.delete(key);
    }
    await this.#leave(book);
    await this.close(book);
    this.#reopened(book.id);
  }

  /** Closes a device on which nothing is loaded any more (a simulated one whose size was changed, say). */
  async close(book: DeviceBook): Promise<void> {
    if (this.#manager.handles.some(({ device }) => device === book.device)) {
      throw new Error(`${book.id} cannot be closed: components are still on it.`);
    }
    await this.#dispose(book);
  }

  async #dispose(book: DeviceBook): Promise<void> {
    for (const [key, opened] of this.#opened) {
      if (opened !== book) continue;
      this.#opened.delete(key);
      this.#open.delete(key);
    }
    this.#lost.delete(book);
    this.#manager.removeDevice(book.device);
    await book.dispose();
  }

  /** A simulated device whose size was changed goes as soon as nothing is on it. */
  async #closeUnused(kept: DeviceBook): Promise<void> {
    for (const [key, book] of [...this.#opened]) {
      const used =
        this.#claims.has(key) || this.#manager.handles.some(({ device }) => device === book.device);
      if (book.device.simulated && book !== kept && !used && book.active.size === 0) await this.close(book);
    }
  }

  /** Also under a request that does not end: it loses its device. */
  async closeAll(): Promise<void> {
    for (const book of this.opened) await this.#dispose(book);
  }

  #book(choice: DeviceChoice): Promise<DeviceBook> {
    const key = keyOf(choice);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opening = this.#openDevice(choice).then((book) => {
      this.#opened.set(key, book);
      return book;
    });
    this.#open.set(key, opening);
    // A device that could not be opened may be tried again.
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  async #openDevice(choice: DeviceChoice): Promise<DeviceBook> {
    let device: Device;
    try {
      device = await this.#addon.openDevice({
        name: choice.name,
        ...(choice.threads === null ? {} : { threads: choice.threads }),
        ...(choice.simulateBytes === null
          ? { importHostMemory: importsHostMemory() }
          : { simulateBytes: choice.simulateBytes, unified: choice.unified }),
      });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'DeviceNotFound') throw error;
      throw notFound(choice.name, this.infos(), error);
    }
    const { backend } = device.info();
    return this.#manager.addDevice(device, { unified: sharesMemory({ kind: device.kind, backend }) });
  }
}

function keyOf({ name, threads, simulateBytes, unified }: DeviceChoice): string {
  return JSON.stringify([name, threads, simulateBytes, unified]);
}

/** For trying: ggml-vulkan can use host memory in place, and says that it cannot. */
function importsHostMemory(): boolean {
  return process.env.MIZUOTO_IMPORT_HOST_MEMORY === '1';
}

/** Whether `shared` is a mode of this device: it shares the processor's memory, or was asked to use it. */
export function sharesMemory({ kind, backend }: Pick<DeviceInfo, 'kind' | 'backend'>): boolean {
  return isUnified(kind, backend) || (backend === 'Vulkan' && importsHostMemory());
}

/** What computes on the processor has no driver whose state outlives it. */
function reopens({ device }: DeviceBook): boolean {
  return device.simulated || device.isHost;
}

const nothing: ReadonlySet<string> = new Set();

/** What `compute.device` and `compute.simulate_vram_mb` mean on a machine with these devices; `auto` passes over some. */
export function chooseDevice(
  settings: Settings,
  devices: readonly DeviceInfo[],
  passOver: ReadonlySet<string> = nothing,
): DeviceChoice {
  const threads = settings['compute.threads'];
  const simulate = settings['compute.simulate_vram_mb'];
  const wanted = settings['compute.device'];
  if (simulate !== null) {
    const bytes = Math.max(1, Math.round(simulate * MiB));
    const unified = settings['compute.vram_mode'] === 'shared';
    return { name: 'CPU', threads, simulateBytes: bytes, unified, why: say('device_simulated') };
  }
  if (wanted !== 'auto') {
    const found = devices.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    if (found === undefined) throw notFound(wanted, devices);
    return { name: found.name, threads, simulateBytes: null, unified: false, why: say('device_chosen') };
  }
  const discrete = devices
    .filter(({ kind, name }) => kind === 'gpu' && !passOver.has(name))
    .sort((a, b) => b.totalBytes - a.totalBytes || (a.name < b.name ? -1 : 1));
  const best = discrete[0];
  if (best !== undefined && !isSoftware(best)) {
    return { name: best.name, threads, simulateBytes: null, unified: false, why: say('device_most_memory') };
  }
  return { name: 'CPU', threads, simulateBytes: null, unified: false, why: say('device_no_graphics') };
}

/** Why a device is used or not, for the list of devices. */
export function whyDevice(
  info: DeviceInfo,
  choice: DeviceChoice,
  passOver: ReadonlySet<string> = nothing,
): { used: boolean; why: Said } {
  if (choice.simulateBytes === null && choice.name === info.name) return { used: true, why: choice.why };
  if (choice.simulateBytes !== null) return { used: false, why: say('device_simulated_instead') };
  if (passOver.has(info.name)) return { used: false, why: say('device_lost_often') };
  if (isSoftware(info)) return { used: false, why: say('device_software') };
  if (info.kind === 'igpu') return { used: false, why: say('device_integrated') };
  if (info.kind === 'cpu' && choice.why.code === 'device_most_memory')
    return { used: false, why: say('device_graphics_faster') };
  return { used: false, why: say('device_other_used', { device: choice.name }) };
}

/** Drivers that compute on the processor: right for tests, never a gain. */
function isSoftware(info: DeviceInfo): boolean {
  return /llvmpipe|lavapipe|swiftshader|microsoft basic render/i.test(info.description);
}

function notFound(name: string, devices: readonly DeviceInfo[], cause?: unknown): StudioError {
  const known = devices.map((device) => device.name).join(', ');
  return new StudioError(
    'device_not_found',
    `There is no device "${name}" on this computer; it has ${known}. Set compute.device to one of them or to auto.`,
    { params: { device: name, known }, ...(cause === undefined ? {} : { cause }) },
  );
}

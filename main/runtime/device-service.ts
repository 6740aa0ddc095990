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

/** Opens devices when they are first needed and gives each to the memory manager; closes them at the end. */
export class DeviceService {
  readonly #addon: Addon;
  readonly #manager: ModelManager;
  readonly #settings: () => Settings;
  readonly #open = new Map<string, Promise<DeviceBook>>();
  readonly #opened = new Map<string, DeviceBook>();
  /** By the keys of `#open`: how many requests wait for a device or work on it. */
  readonly #claims = new Map<string, number>();

  constructor(addon: Addon, manager: ModelManager, settings: () => Settings) {
    this.#addon = addon;
    this.#manager = manager;
    this.#settings = settings;
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
    const choice = chooseDevice(settings, this.infos());
    const key = keyOf(choice);
    this.#claims.set(key, (this.#claims.get(key) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      const left = (this.#claims.get(key) ?? 1) - 1;
      if (left === 0) this.#claims.delete(key);
      else this.#claims.set(key, left);
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

  /** Closes a device on which nothing is loaded any more (a simulated one whose size was changed, say). */
  async close(book: DeviceBook): Promise<void> {
    if (this.#manager.handles.some(({ device }) => device === book.device)) {
      throw new Error(`${book.id} cannot be closed: components are still on it.`);
    }
    for (const [key, opened] of this.#opened) {
      if (opened !== book) continue;
      this.#opened.delete(key);
      this.#open.delete(key);
    }
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

  async closeAll(): Promise<void> {
    for (const book of this.opened) await this.close(book);
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

/** What `compute.device` and `compute.simulate_vram_mb` mean on a machine with these devices. */
export function chooseDevice(settings: Settings, devices: readonly DeviceInfo[]): DeviceChoice {
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
    .filter(({ kind }) => kind === 'gpu')
    .sort((a, b) => b.totalBytes - a.totalBytes || (a.name < b.name ? -1 : 1));
  const best = discrete[0];
  if (best !== undefined && !isSoftware(best)) {
    return { name: best.name, threads, simulateBytes: null, unified: false, why: say('device_most_memory') };
  }
  return { name: 'CPU', threads, simulateBytes: null, unified: false, why: say('device_no_graphics') };
}

/** Why a device is used or not, for the list of devices. */
export function whyDevice(info: DeviceInfo, choice: DeviceChoice): { used: boolean; why: Said } {
  if (choice.simulateBytes === null && choice.name === info.name) return { used: true, why: choice.why };
  if (choice.simulateBytes !== null) return { used: false, why: say('device_simulated_instead') };
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

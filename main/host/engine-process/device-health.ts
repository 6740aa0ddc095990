import type { DeviceInfo } from '../../../native/addon.ts';
import {
  type EngineInfo,
  type Incident,
  type Said,
  type Settings,
  type StudioError,
  say,
} from '../../contract/index.ts';
import type { InstalledModel } from '../../models/types.ts';
import { lostAndReplaced, lostTooOften } from '../../runtime/lost-device.ts';
import type { DeviceQueue } from '../backend.ts';

/** So many losses of a device within so many minutes are one too many. */
export const lossLimit = 3;
export const lossMinutes = 10;
const lossCounts = { times: lossLimit, minutes: lossMinutes };

const keptIncidents = 10;

/** What can be said of engines, and of where they compute, in this process. */
export interface KnownEngines {
  engines(): EngineInfo[];
  setModels(models: readonly InstalledModel[]): void;
  queueFor(
    engine: string,
    settings: Settings,
    devices: readonly DeviceInfo[],
    passOver: ReadonlySet<string>,
  ): DeviceQueue;
}

export interface DeviceHealthOptions {
  known: KnownEngines;
  now: () => number;
  /** Called with each incident. */
  told: (said: Said) => void;
}

/** How often each device was lost lately, which are passed over for it, and what a person is told of it. */
export class DeviceHealth {
  /** Devices of this machine, as the last process found them. */
  devices: readonly DeviceInfo[] = [];
  readonly #options: DeviceHealthOptions;
  readonly #losses = new Map<string, number[]>();
  #passOver: ReadonlySet<string> = new Set();
  readonly #incidents: Incident[] = [];

  constructor(options: DeviceHealthOptions) {
    this.#options = options;
  }

  /** Devices that `compute.device` auto passes over. */
  get passOver(): ReadonlySet<string> {
    return this.#passOver;
  }

  isGraphics(device: string): boolean {
    return this.devices.some(({ name, kind }) => name === device && kind !== 'cpu');
  }

  queueFor(engine: string, settings: Settings, passOver = this.#passOver): DeviceQueue {
    return this.#options.known.queueFor(engine, settings, this.devices, passOver);
  }

  /**
   * The device that a request gets, and in `said` that it is not the one that it would get if none had been lost.
   * @throws StudioError `device_lost` where it was lost too often and no other may take its place.
   */
  deviceFor(settings: Settings, said: Said[]): string {
    const { id } = this.queueFor('', settings);
    if (this.#passOver.has(id)) throw lostTooOften(id, { ...lossCounts, chosen: true });
    const wanted = this.queueFor('', settings, new Set()).id;
    if (wanted !== id) said.push(say('device_passed_over', { device: wanted, other: id, ...lossCounts }));
    return id;
  }

  /** What a request is told of its loss. `how`: of a driver that crashed. */
  lossOf(device: string, settings: Settings, how: string | null, detail?: string): StudioError {
    if (!this.#passOver.has(device)) return lostAndReplaced(device, how, detail);
    return lostTooOften(device, { ...lossCounts, chosen: this.#isChosen(device, settings) }, detail);
  }

  /** The process ended, and no device explains it. `how`: the signal or exit code. */
  countCrash(how: string): void {
    this.#add(null);
    this.#tell(
      this.tooOften(null) ? say('engine_left_alone', { how, ...lossCounts }) : say('engine_crashed', { how }),
    );
  }

  /** A device was lost. */
  count(device: string, happened: Said): void {
    this.#tell(happened);
    this.#add(device);
    if (!this.tooOften(device)) return;
    this.#passOver = new Set([...this.#passOver, device]);
    this.#tell(say('device_given_up', { device, ...lossCounts }));
  }

  tooOften(device: string | null): boolean {
    return this.#recent(device).length >= lossLimit;
  }

  /** Whoever sets the device wants it. */
  forget(): void {
    this.#losses.clear();
    this.#passOver = new Set();
  }

  /** The latest first, with those that the process told. */
  incidents(others: readonly Incident[]): Incident[] {
    return [...this.#incidents, ...others].sort((a, b) => b.at - a.at).slice(0, keptIncidents);
  }

  #tell(said: Said): void {
    this.#incidents.unshift({ at: this.#options.now(), said });
    this.#incidents.splice(keptIncidents);
    this.#options.told(said);
  }

  /** No other one may take its place. */
  #isChosen(device: string, settings: Settings): boolean {
    try {
      return this.queueFor('', settings).id === device;
    } catch {
      return true;
    }
  }

  #add(device: string | null): void {
    this.#losses.set(device ?? '', [...this.#recent(device), this.#options.now()]);
  }

  #recent(device: string | null): number[] {
    const since = this.#options.now() - lossMinutes * 60_000;
    return (this.#losses.get(device ?? '') ?? []).filter((at) => at > since);
  }
}

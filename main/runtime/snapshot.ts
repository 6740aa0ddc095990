import type { Addon, DeviceInfo } from '../../native/addon.ts';
import type {
  ComponentSnapshot,
  DeviceSnapshot,
  Incident,
  ModelSnapshot,
  RuntimeSnapshot,
} from '../contract/runtime.ts';
import { type Said, say } from '../contract/said.ts';
import type { Settings } from '../contract/settings.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { reserveInForce, type VramPolicy } from '../memory/policy.ts';
import {
  chooseDevice,
  type DeviceChoice,
  type DeviceService,
  sharesMemory,
  whyDevice,
} from './device-service.ts';
import type { LoadedModels } from './loaded-models.ts';
import type { LoadedModel } from './model-source.ts';
import { policyInForce } from './policy-in-force.ts';

export interface SnapshotSources {
  addon: Addon;
  manager: ModelManager;
  devices: DeviceService;
  models: LoadedModels;
  settings: Settings;
  policy: VramPolicy;
  incidents: readonly Incident[];
}

/** The state of devices, host memory and models, as the window, the HTTP API and the command line show it. */
export function snapshotOf(sources: SnapshotSources): Omit<RuntimeSnapshot, 'version' | 'at' | 'jobs'> {
  const { addon, manager, models, policy, settings } = sources;
  const host = addon.hostMemory();
  const devices = deviceSnapshots(sources);
  const { values, notes } = policyInForce(settings, policy, devices.find(({ used }) => used) ?? null);
  return {
    devices,
    host: {
      total_bytes: host.totalBytes,
      available_bytes: host.availableBytes,
      process_bytes: host.processBytes,
      pinned_bytes: manager.pins.bytes,
      pin_budget_bytes: policy.maxPinnedBytes,
      reserve_bytes: policy.ramReserveBytes,
    },
    models: models.list().map((model) => modelSnapshot(model, sources)),
    policy: { ...values, resident_models: models.list().length },
    policy_notes: notes,
    incidents: [...sources.incidents],
  };
}

function deviceSnapshots({ devices, settings, policy }: SnapshotSources): DeviceSnapshot[] {
  const infos = devices.infos();
  const { passOver } = devices;
  const choice = safeChoice(settings, infos, passOver);
  const opened = devices.opened;
  const real = infos.map((info) => {
    const book = opened.find(({ device }) => !device.simulated && device.name === info.name);
    return deviceSnapshot(info, book, whyDevice(info, choice, passOver), policy);
  });
  const simulated = opened
    .filter(({ device }) => device.simulated)
    .map((book) => {
      const used =
        book.device.memory().totalBytes === choice.simulateBytes && book.unified === choice.unified;
      const why = used ? choice.why : say('device_for_request');
      return deviceSnapshot(book.device.info(), book, { used, why }, policy);
    });
  const unopened = choice.simulateBytes !== null && !simulated.some(({ used }) => used);
  return [...(unopened ? [simulatedSnapshot(choice, infos, policy)] : []), ...simulated, ...real];
}

/** A simulated device before the first request opens it. */
function simulatedSnapshot(
  { simulateBytes, name, unified, why }: DeviceChoice,
  infos: readonly DeviceInfo[],
  policy: VramPolicy,
): DeviceSnapshot {
  const processor = infos.find((info) => info.name === name)?.description ?? name;
  const total = simulateBytes ?? 0;
  return {
    id: 'Simulated0',
    description: `Simulated device on ${processor}`,
    kind: unified ? 'igpu' : 'gpu',
    simulated: true,
    unified,
    used: true,
    why: why.message,
    reason: why,
    total_bytes: total,
    free_bytes: total,
    held: { weights: 0, slots: 0, compute: 0, io: 0, state: 0 },
    others_bytes: 0,
    reserve_bytes: reserveInForce(policy, total),
  };
}

/** A device that is gone must not hide all the others. */
function safeChoice(
  settings: Settings,
  infos: readonly DeviceInfo[],
  passOver: ReadonlySet<string>,
): DeviceChoice {
  try {
    return chooseDevice(settings, infos, passOver);
  } catch {
    return {
      name: '',
      threads: null,
      simulateBytes: null,
      unified: false,
      why: say('device_missing', { device: settings['compute.device'] }),
    };
  }
}

function deviceSnapshot(
  info: DeviceInfo,
  book: DeviceBook | undefined,
  use: { used: boolean; why: Said },
  policy: VramPolicy,
): DeviceSnapshot {
  const memory = book?.device.memory();
  const held = memory?.held ?? { weights: 0, slots: 0, compute: 0, io: 0, state: 0 };
  const total = memory?.totalBytes ?? info.totalBytes;
  const free = Math.min(total, memory?.freeBytes ?? info.freeBytes);
  const own = Object.values(held).reduce((sum, bytes) => sum + bytes, 0);
  const onHost = book?.device.isHost ?? info.kind === 'cpu';
  return {
    id: book?.id ?? info.name,
    description: info.description,
    kind: info.kind,
    simulated: book?.device.simulated ?? false,
    unified: book?.unified ?? sharesMemory(info),
    used: use.used,
    why: use.why.message,
    reason: use.why,
    total_bytes: total,
    free_bytes: free,
    held,
    others_bytes: Math.max(0, total - free - own),
    reserve_bytes: onHost ? 0 : reserveInForce(policy, total),
  };
}

function modelSnapshot(model: LoadedModel, sources: SnapshotSources): ModelSnapshot {
  const components = model.handles.filter(({ disposed }) => !disposed).map(componentSnapshot);
  const sum = (pick: (component: ComponentSnapshot) => number): number =>
    components.reduce((total, component) => total + pick(component), 0);
  return {
    id: model.id,
    engine: model.engine,
    name: model.name,
    device: model.book.id,
    state: model.state,
    load_fraction: model.loadFraction,
    last_used_at: model.lastUsedAt,
    pinned: sources.models.isPinned(model.id),
    size_bytes: sum(({ size_bytes }) => size_bytes),
    loaded_bytes: sum(({ loaded_bytes }) => loaded_bytes),
    streamed_bytes: sum(({ streamed_bytes }) => streamed_bytes),
    host_bytes: sum(({ host_bytes }) => host_bytes),
    mapped_bytes: sum(({ mapped_bytes }) => mapped_bytes),
    components,
    calibration: calibrationSnapshot(model, sources),
  };
}

function componentSnapshot(handle: ModelHandle): ComponentSnapshot {
  return {
    name: handle.component,
    kind: handle.kind,
    size_bytes: handle.sizeBytes,
    fixed_bytes: handle.fixedBytes,
    loaded_bytes: handle.loadedBytes,
    streamed_bytes: handle.streamedBytes,
    host_bytes: handle.hostBytes,
    mapped_bytes: handle.mappedBytes,
    units: handle.unitCount,
    units_resident: handle.onHost ? handle.unitCount : handle.placementOrder.length,
    partial: handle.partial,
  };
}

/** A model is calibrated when all of its measured components are; the ratio shown is the largest. */
function calibrationSnapshot(model: LoadedModel, { manager }: SnapshotSources): ModelSnapshot['calibration'] {
  if (model.book.device.isHost) return { state: 'not_needed', runs: 0, ratio: 0 };
  const device = model.book.key;
  const stages = model.handles.map((handle) => manager.calibration.stage(device, handle.calibrationKey));
  const measured = stages.filter(({ runs }) => runs > 0);
  const runs = measured.length === 0 ? 0 : Math.min(...measured.map((stage) => stage.runs));
  const ratio = Math.max(0, ...stages.map((stage) => stage.ratio));
  if (measured.length === 0) {
    return { state: stages.some(({ state }) => state === 'stale') ? 'stale' : 'none', runs, ratio };
  }
  return {
    state: measured.every(({ state }) => state === 'calibrated') ? 'calibrated' : 'none',
    runs,
    ratio,
  };
}

import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import type {
  DeviceSnapshot,
  DoctorReport,
  ErrorBody,
  Finding,
  FindingId,
  Said,
  SelfTest,
  Settings,
} from '../../contract/index.ts';
import { chosen } from '../../settings/resolve.ts';
import type { SettingsStore } from '../../settings/store.ts';
import type { RuntimeView, SpeechBackend } from '../backend.ts';
import { toErrorBody } from '../failures.ts';
import type { DeviceStep } from '../isolated/device-task.ts';
import { stepWords } from '../isolated/step-words.ts';
import type { LibraryFinding } from './library-findings.ts';
import { findingSentences } from './sentences.ts';

export interface DoctorSources {
  settings: SettingsStore;
  configFolder: string;
  cacheFolder: string;
  /** Fails where the native core does. */
  open: () => Promise<SpeechBackend>;
  /** Of installed models and saved voices; absent where none are kept. */
  library?: () => Promise<LibraryFinding[]>;
  /** What was warned of the list of models and the measurements, now that everything is read. */
  warned?: () => readonly Said[];
  /** Loads the graphics drivers in a process of its own; rejects where that crashes or hangs. */
  probeDrivers?: () => Promise<void>;
}

const severity = { failed: 0, warning: 1, note: 2, ok: 3 } as const;
/** Below this share of a used device, other programs are in the way. */
const fullShare = 0.25;
const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/** What works here and what does not. Never rejects: what is broken is what it reports. */
export async function diagnose(sources: DoctorSources): Promise<DoctorReport> {
  const settings = sources.settings.get();
  const findings = [
    ...settingsFindings(settings, sources.settings.problems),
    ...(await Promise.all([sources.configFolder, sources.cacheFolder].map(folderFinding))),
    ...((await sources.library?.()) ?? []).map((found) => finding(...found)),
  ];
  const versions = {
    mizuoto: packageJson.version,
    ggml: null as string | null,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  let policy: DoctorReport['policy'] = {};
  let notes: DoctorReport['policy_notes'] = [];
  let selfTests: SelfTest[] = [];
  try {
    // A driver that crashes would take this process along: then nothing more is asked of the native core.
    await sources.probeDrivers?.();
    const backend = await sources.open();
    versions.ggml = backend.ggmlVersion;
    findings.unshift(finding('core_ok', 'ok', { ggml: backend.ggmlVersion }));
    const view = await backend.view();
    policy = view.policy;
    notes = view.policy_notes;
    findings.push(ramFinding(view.host), ...deviceFindings(view.devices, settings));
    for (const trial of await backend.tryEngines()) {
      const params = { engine: trial.engine, name: trial.name };
      findings.push(
        trial.error === null
          ? finding('engine_ok', 'ok', {
              ...params,
              size_mb: mib(trial.bytes),
              seconds: trial.seconds.toFixed(2),
            })
          : finding('engine_broken', 'failed', params, trial.error),
      );
    }
    selfTests = await backend.selfTest();
    findings.push(...selfTests.map((test) => selfTestFinding(test, view.devices)));
    findings.push(...selfTests.flatMap((test) => lackingFindings(test, view.devices)));
  } catch (error) {
    const body = toErrorBody(error);
    findings.unshift(driverFinding(body, 'failed') ?? finding('core_broken', 'failed', {}, body));
  }
  // Settings and voices have findings of their own.
  const others = sources.warned?.().filter(({ code }) => /^(models|calibration)_/.test(code)) ?? [];
  findings.push(...others.map((said) => saidFinding('file_problem', said)));
  const worst = [...findings].sort((a, b) => severity[a.status] - severity[b.status]);
  return {
    ok: worst[0]?.status !== 'failed',
    versions,
    findings,
    policy,
    policy_notes: notes,
    self_tests: selfTests,
    fixes: [...new Set(worst.flatMap(({ fix }) => (fix === null ? [] : [fix])))],
  };
}

function finding(
  id: FindingId,
  status: Finding['status'],
  params: Finding['params'],
  error: ErrorBody | null = null,
): Finding {
  const values = error === null ? params : { ...params, reason: error.message };
  const { message, fix } = findingSentences[id];
  return {
    id,
    status,
    message: filled(message, values),
    fix: fix === null ? null : filled(fix, values),
    params: values,
    error,
  };
}

function filled(template: string, params: Finding['params']): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ''));
}

function saidFinding(id: 'settings_problem' | 'file_problem', said: Said): Finding {
  return { ...finding(id, 'warning', { problem: said.message }), said };
}

function settingsFindings(settings: Settings, problems: readonly Said[]): Finding[] {
  const found = problems.map((said) => saidFinding('settings_problem', said));
  if (settings['compute.gpu_allocator'] !== 'auto') {
    found.push(finding('settings_allocator', 'warning', { value: settings['compute.gpu_allocator'] }));
  }
  const simulated = settings['compute.simulate_vram_mb'];
  if (simulated !== null) found.push(finding('settings_simulated', 'note', { size_mb: simulated }));
  if (problems.length > 0) return found;
  return [finding('settings_ok', 'ok', { changed: Object.keys(chosen(settings)).length }), ...found];
}

async function folderFinding(path: string): Promise<Finding> {
  const probe = join(path, `.probe-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(path, { recursive: true });
    await writeFile(probe, 'mizuoto');
    return finding('folder_ok', 'ok', { path });
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    return finding('folder_unwritable', 'failed', { path, reason });
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

function ramFinding(host: RuntimeView['host']): Finding {
  const params = {
    free_mb: mib(host.available_bytes),
    total_mb: mib(host.total_bytes),
    reserve_mb: mib(host.reserve_bytes),
  };
  return host.available_bytes < host.reserve_bytes
    ? finding('ram_short', 'warning', params)
    : finding('ram_ok', 'ok', params);
}

function deviceFindings(devices: readonly DeviceSnapshot[], settings: Settings): Finding[] {
  const found: Finding[] = [];
  for (const device of devices) {
    const params = {
      device: device.id,
      description: device.description,
      why: device.why,
      free_mb: mib(device.free_bytes),
      total_mb: mib(device.total_bytes),
      others_mb: mib(device.others_bytes),
    };
    found.push(device.used ? finding('device_used', 'ok', params) : finding('device_unused', 'note', params));
    const scarce = device.free_bytes < fullShare * device.total_bytes;
    if (device.used && device.kind !== 'cpu' && scarce && device.others_bytes > device.free_bytes) {
      found.push(finding('device_full', 'warning', params));
    }
  }
  const wanted = settings['compute.device'];
  const known = devices.map(({ id }) => id).join(', ');
  if (wanted !== 'auto' && !devices.some(({ id }) => id.toLowerCase() === wanted.toLowerCase())) {
    found.push(finding('settings_device_missing', 'failed', { device: wanted, known }));
  } else if (wanted === 'auto' && !devices.some(({ used, kind }) => used && kind !== 'cpu')) {
    found.push(finding('no_graphics', 'note', {}));
  }
  return found;
}

/** A device that nobody uses may be broken; then it is only worth a warning. */
function selfTestFinding(test: SelfTest, devices: readonly DeviceSnapshot[]): Finding {
  const { device } = test;
  if (test.passed) {
    return finding('self_test_ok', 'ok', { device, seconds: test.seconds.toFixed(2) });
  }
  const used = devices.some(({ id, used, kind }) => id === device && (used || kind === 'cpu'));
  const status = used ? 'failed' : 'warning';
  if (test.error !== null) {
    return driverFinding(test.error, status) ?? finding('self_test_failed', status, { device }, test.error);
  }
  const difference = Math.min(999, (test.largest_difference ?? 0) * 100).toFixed(2);
  const identical = test.identical === false ? 'no' : 'yes';
  return finding('self_test_wrong', status, { device, difference, identical });
}

/** What the backend of a graphics device does not offer to the memory manager. */
function lackingFindings({ device, capabilities }: SelfTest, devices: readonly DeviceSnapshot[]): Finding[] {
  const kind = devices.find(({ id }) => id === device)?.kind ?? 'cpu';
  if (capabilities === null || kind === 'cpu') return [];
  const { async, events, host_buffers, host_pointer, dtypes } = capabilities;
  const halves = ['f16', 'bf16'].filter((dtype) => !dtypes.includes(dtype));
  const lacking: [FindingId, boolean][] = [
    ['no_overlap', !(async && events)],
    ['no_pinned_memory', !host_buffers],
    // Elsewhere there is nothing to share.
    ['not_in_place', kind === 'igpu' && !host_pointer],
    ['no_half_type', halves.length > 0],
  ];
  return lacking.flatMap(([id, lacks]) =>
    lacks
      ? [finding(id, 'note', id === 'no_half_type' ? { device, dtypes: halves.join(', ') } : { device })]
      : [],
  );
}

/** What a process of its own said of a driver; null where it is another failure. */
function driverFinding(error: ErrorBody, status: Finding['status']): Finding | null {
  const { device, how, seconds, step } = error.params;
  if (error.code !== 'device_lost' || typeof step !== 'string') return null;
  const doing = { step: stepWords[step as DeviceStep], how: how ?? `${seconds} s` };
  // All drivers are loaded at once: which one it was is not known.
  if (device === '') return finding('drivers_broken', status, doing, error);
  const params = { device: device ?? '', ...doing };
  return how === undefined
    ? finding('driver_hung', status, { ...params, seconds: seconds ?? '' }, error)
    : finding('driver_crashed', status, params, error);
}

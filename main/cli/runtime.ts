import type { ComponentSnapshot, ModelSnapshot, RuntimeSnapshot, StudioClient } from '../contract/index.ts';
import { say } from '../contract/said.ts';
import { findRunningStudio, type RunningStudio } from '../server/running-studio.ts';
import { studioFolders } from '../settings/paths.ts';
import type { Parsed } from './arguments.ts';
import { deviceTable, indent, withHost } from './listings.ts';
import type { MessageKey } from './messages.en.ts';
import type { Messages } from './messages.ts';
import { policyText } from './policy-table.ts';
import { size } from './size.ts';
import { print, printJson, type Surroundings, table } from './terminal.ts';

type Partial = NonNullable<ComponentSnapshot['partial']>;

const stateKeys: Record<ModelSnapshot['state'], MessageKey> = {
  loading: 'modelLoading',
  in_use: 'modelInUse',
  idle: 'modelIdle',
  unloading: 'modelUnloading',
  failed: 'modelFailed',
};
const reasonKeys: Record<Partial['reason'], MessageKey> = {
  budget: 'partialBudget',
  'vram_mode low': 'partialLow',
  'vram_mode none': 'partialNone',
  'capped after out of memory': 'partialCapped',
  'gave up for another component': 'partialGaveUp',
};
const calibrationKeys: Record<ModelSnapshot['calibration']['state'], MessageKey> = {
  not_needed: 'calibrationNotNeeded',
  none: 'calibrationNone',
  calibrated: 'calibrationDone',
  stale: 'calibrationStale',
};

/** `mizuoto runtime`: once, or with every change until Ctrl-C; of the studio that runs, else of a fresh one. */
export async function showRuntime(parsed: Parsed, around: Surroundings): Promise<void> {
  const studio = await findRunningStudio(studioFolders().config);
  const about = studio === null ? null : aboutStudio(studio);
  const show = (snapshot: RuntimeSnapshot, first: boolean): Promise<void> => {
    if (around.json) return printJson(around, { studio: about, ...snapshot });
    const text = `${whoseRuntime(about, around.messages)}\n\n${runtimeText(snapshot, around.messages)}`;
    // A terminal shows one picture that changes; a file gets one after the other.
    if (!parsed.flags.has('watch')) return print(around, text);
    if (around.stdout.isTTY) return print(around, `\x1b[H\x1b[2J${text}`);
    return print(around, first ? text : `\n${text}`);
  };
  const over = new AbortController();
  const signal = AbortSignal.any([around.signal, over.signal]);
  const look = async (client: StudioClient): Promise<void> => {
    await show(await client.call('runtime.snapshot', {}), true);
    if (parsed.flags.has('watch')) await watch(client, signal, (snapshot) => show(snapshot, false));
  };
  if (studio === null) return withHost(around, look);
  // Ctrl-C ends the watching, never the studio.
  try {
    await Promise.race([look(studio), studio.lost]);
  } finally {
    over.abort();
    studio.close();
  }
}

/** The studio that runs, without what opens it. */
const aboutStudio = ({ notice: { kind, pid, started } }: RunningStudio) => ({ kind, pid, started });

function whoseRuntime(studio: ReturnType<typeof aboutStudio> | null, messages: Messages): string {
  if (studio === null) return messages.get('runtimeNoStudio');
  const since = new Date(studio.started).toLocaleString(messages.language);
  return messages.get('runtimeStudio', { pid: studio.pid, since });
}

/** Until the signal; a slow reader sees the newest snapshot, not all of them. */
async function watch(
  client: StudioClient,
  signal: AbortSignal,
  show: (snapshot: RuntimeSnapshot) => Promise<void>,
): Promise<void> {
  let latest: RuntimeSnapshot | null = null;
  let wake: () => void = () => {};
  const off = client.on('runtime.changed', (snapshot) => {
    latest = snapshot;
    wake();
  });
  const stop = () => wake();
  signal.addEventListener('abort', stop);
  try {
    while (!signal.aborted) {
      if (latest === null) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          // Something must keep the program alive while nothing happens.
          const alive = setTimeout(resolve, 60_000);
          wake = () => {
            clearTimeout(alive);
            resolve();
          };
        });
        continue;
      }
      const snapshot: RuntimeSnapshot = latest;
      latest = null;
      await show(snapshot);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    off();
  }
}

export function runtimeText(
  { devices, host, models, jobs, incidents, ...policy }: RuntimeSnapshot,
  messages: Messages,
): string {
  const values = {
    free: size(host.available_bytes),
    total: size(host.total_bytes),
    process: size(host.process_bytes),
    pinned: size(host.pinned_bytes),
  };
  const lines = [
    ...incidentLines(incidents, messages),
    messages.get('runtimeDevices'),
    indent(deviceTable(devices, messages)),
    '',
    messages.get('runtimeHost', values),
    '',
    messages.get('runtimeModels'),
  ];
  if (models.length === 0) lines.push(indent(messages.get('runtimeNoModels')));
  else lines.push(indent(modelTable(models, messages)));
  for (const model of models) {
    lines.push(...remarksOf(model, messages).map((remark) => indent(remark)));
  }
  const waiting = jobs.filter(({ state }) => state === 'waiting').length;
  const running = jobs.filter(({ state }) => ['loading', 'running', 'stopping'].includes(state)).length;
  if (waiting + running > 0) lines.push('', messages.get('runtimeJobs', { running, waiting }));
  lines.push('', policyText(policy, messages));
  return lines.join('\n');
}

/** Above everything else: a device that was lost explains what stands below. */
function incidentLines(incidents: RuntimeSnapshot['incidents'], messages: Messages): string[] {
  if (incidents.length === 0) return [];
  const told = incidents.map(({ at, said }) =>
    indent(`${new Date(at).toLocaleTimeString(messages.language)}  ${messages.said(said)}`),
  );
  return [messages.get('runtimeIncidents'), ...told, ''];
}

/** A row for each model, and below it one for each of its components. */
function modelTable(models: readonly ModelSnapshot[], messages: Messages): string {
  const head = (['Model', 'Device', 'State', 'Loaded', 'Size', 'Streamed', 'Host', 'Units'] as const).map(
    (name) => messages.get(`column${name}`),
  );
  const rows = models.flatMap((model) => [
    [
      model.pinned ? `${model.name} (${messages.get('modelPinned')})` : model.name,
      model.device,
      messages.get(stateKeys[model.state], { percent: Math.floor(model.load_fraction * 100) }),
      ...bytesOf(model),
      '',
    ],
    ...model.components.map((component) => [
      `  ${component.name}`,
      '',
      '',
      ...bytesOf(component),
      `${component.units_resident}/${component.units}`,
    ]),
  ]);
  return table(head, rows);
}

function bytesOf(of: ModelSnapshot | ComponentSnapshot): string[] {
  return [of.loaded_bytes, of.size_bytes, of.streamed_bytes, of.host_bytes].map(size);
}

/** Why components are only partly on the device, and what the studio has learned of the model. */
function remarksOf({ name, components, calibration }: ModelSnapshot, messages: Messages): string[] {
  const remarks = components.flatMap(({ name: component, partial, mapped_bytes, loaded_bytes }) => {
    const own = partial === null ? [] : [reasonOf(component, partial, messages)];
    if (mapped_bytes === 0) return own;
    const sizes = { mapped: mebibytes(mapped_bytes), copied: mebibytes(loaded_bytes - mapped_bytes) };
    return [...own, messages.said(say('weights_in_place', { component, ...sizes }))];
  });
  if (calibration.state === 'not_needed') return remarks;
  const { runs, ratio } = calibration;
  return [
    ...remarks,
    messages.get(calibrationKeys[calibration.state], { name, runs, ratio: ratio.toFixed(2) }),
  ];
}

function mebibytes(bytes: number): number {
  return Math.round((bytes / 2 ** 20) * 10) / 10;
}

function reasonOf(component: string, partial: Partial, messages: Messages): string {
  return messages.get(reasonKeys[partial.reason], {
    component,
    loaded: partial.loaded_mb,
    size: partial.size_mb,
    free: partial.free_mb,
    working: partial.working_mb,
    reserve: partial.reserve_mb,
    other: partial.gave_up_for ?? '-',
  });
}

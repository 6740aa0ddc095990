import packageJson from '../../package.json' with { type: 'json' };
import { inLanguage, type RuntimeSnapshot, StudioError } from '../contract/index.ts';
import { HostClient } from '../host/client.ts';
import type { Parsed } from './arguments.ts';
import type { Messages } from './messages.ts';
import { size } from './size.ts';
import { print, printJson, remarkLogLine, type Surroundings, table } from './terminal.ts';

/** A person who pressed Ctrl-C waits no longer than this for what was going on. */
const patienceSeconds = 2;

/** A host for the time of one command. Ctrl-C closes it, and with it what it was doing. */
export async function withHost<T>(
  around: Surroundings,
  body: (client: HostClient) => Promise<T>,
): Promise<T> {
  const client = new HostClient({ keepAudio: false });
  client.on('log.line', ({ level, message, said }) => remarkLogLine(level, message, around, said));
  const stop = () => void client.close(patienceSeconds);
  around.signal.addEventListener('abort', stop);
  try {
    if (around.signal.aborted) stop();
    return await body(client);
  } catch (error) {
    if (around.signal.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
    throw error;
  } finally {
    around.signal.removeEventListener('abort', stop);
    await client.close();
  }
}

export async function listEngines(_parsed: Parsed, around: Surroundings): Promise<void> {
  const { engines } = await withHost(around, (client) => client.call('engines.list', {}));
  if (around.json) return printJson(around, { engines });
  const { messages } = around;
  const head = (['Engine', 'Name', 'Languages', 'Voices', 'Size', 'Licence'] as const).map((name) =>
    messages.get(`column${name}`),
  );
  const rows = engines.map((engine) => [
    engine.id,
    engine.name,
    engine.languages.join(' '),
    String(engine.voices.length),
    engine.built_in
      ? messages.get('sizeBuiltIn', { size: size(engine.size_bytes) })
      : size(engine.size_bytes),
    inLanguage(messages.language, engine.licence, engine.licence_in),
  ]);
  await print(around, table(head, rows));
}

export async function listDevices(_parsed: Parsed, around: Surroundings): Promise<void> {
  const { devices } = await withHost(around, (client) => client.call('runtime.snapshot', {}));
  if (around.json) return printJson(around, { devices });
  await print(around, deviceTable(devices, around.messages));
}

const kindKeys = { cpu: 'kindCpu', gpu: 'kindGpu', igpu: 'kindIgpu', accel: 'kindAccel' } as const;

export function deviceTable(devices: RuntimeSnapshot['devices'], messages: Messages): string {
  const head = (['Device', 'Description', 'Kind', 'Free', 'Total', 'Used', 'Why'] as const).map((name) =>
    messages.get(`column${name}`),
  );
  const rows = devices.map((device) => [
    device.id,
    messages.value('description', device.description),
    messages.get(device.simulated ? 'kindSimulated' : kindKeys[device.kind]),
    size(device.free_bytes),
    size(device.total_bytes),
    messages.get(device.used ? 'yes' : 'no'),
    messages.said(device.reason),
  ]);
  return table(head, rows);
}

export const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

export async function showVersion(_parsed: Parsed, around: Surroundings): Promise<void> {
  // The version is known without the native core; what a broken set-up cannot tell is left out.
  const ggml = await withHost(around, (client) => client.call('host.info', {})).then(
    (info) => info.ggml,
    () => null,
  );
  const versions = { mizuoto: packageJson.version, ggml, node: process.versions.node };
  if (around.json) return printJson(around, versions);
  const rest = ggml === null ? '' : `ggml ${ggml}, `;
  await print(around, `mizuoto ${versions.mizuoto} (${rest}node ${versions.node})`);
}

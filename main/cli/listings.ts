import packageJson from '../../package.json' with { type: 'json' };
import type { RuntimeSnapshot } from '../contract/index.ts';
import { HostClient } from '../host/client.ts';
import { findEngine } from '../host/speech-request.ts';
import type { Parsed } from './arguments.ts';
import { print, printJson, remarkLogLine, type Surroundings, size, table } from './terminal.ts';

/** A host for the time of one command. */
export async function withHost<T>(
  around: Surroundings,
  body: (client: HostClient) => Promise<T>,
): Promise<T> {
  const client = new HostClient({ keepAudio: false });
  client.on('log.line', ({ level, message }) => remarkLogLine(level, message, around));
  try {
    return await body(client);
  } finally {
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
    engine.built_in ? `${size(engine.size_bytes)} (${messages.get('builtIn')})` : size(engine.size_bytes),
    engine.licence,
  ]);
  await print(around, table(head, rows));
}

export async function listVoices(parsed: Parsed, around: Surroundings): Promise<void> {
  const { engines } = await withHost(around, (client) => client.call('engines.list', {}));
  const wanted = parsed.strings.engine;
  const chosen = wanted === undefined ? engines : [findEngine(wanted, engines)];
  const voices = chosen.flatMap((engine) => engine.voices.map((voice) => ({ engine: engine.id, ...voice })));
  if (around.json) return printJson(around, { voices });
  const head = (['Engine', 'Voice', 'Name', 'Language', 'Description'] as const).map((name) =>
    around.messages.get(`column${name}`),
  );
  const rows = voices.map((voice) => [voice.engine, voice.id, voice.name, voice.language, voice.description]);
  await print(around, table(head, rows));
}

export async function listDevices(_parsed: Parsed, around: Surroundings): Promise<void> {
  const { devices } = await withHost(around, (client) => client.call('runtime.snapshot', {}));
  if (around.json) return printJson(around, { devices });
  await print(around, deviceTable(devices, around));
}

function deviceTable(devices: RuntimeSnapshot['devices'], { messages }: Surroundings): string {
  const head = (['Device', 'Description', 'Kind', 'Free', 'Total', 'Used', 'Why'] as const).map((name) =>
    messages.get(`column${name}`),
  );
  const rows = devices.map((device) => [
    device.id,
    device.description,
    device.kind,
    size(device.free_bytes),
    size(device.total_bytes),
    messages.get(device.used ? 'yes' : 'no'),
    device.why,
  ]);
  return table(head, rows);
}

export async function showRuntime(_parsed: Parsed, around: Surroundings): Promise<void> {
  const snapshot = await withHost(around, (client) => client.call('runtime.snapshot', {}));
  if (around.json) return printJson(around, snapshot);
  const { messages } = around;
  const { host } = snapshot;
  const lines = [
    messages.get('runtimeDevices'),
    indent(deviceTable(snapshot.devices, around)),
    '',
    messages.get('runtimeHost', {
      free: size(host.available_bytes),
      total: size(host.total_bytes),
      process: size(host.process_bytes),
      pinned: size(host.pinned_bytes),
    }),
    '',
    messages.get('runtimeModels'),
  ];
  if (snapshot.models.length === 0) lines.push(indent(messages.get('runtimeNoModels')));
  for (const model of snapshot.models) {
    const bytes = {
      size: size(model.size_bytes),
      loaded: size(model.loaded_bytes),
      streamed: size(model.streamed_bytes),
      host: size(model.host_bytes),
    };
    const { name, device, state } = model;
    lines.push(indent(messages.get('runtimeModel', { name, device, state, ...bytes })));
    for (const component of model.components) {
      if (!component.partial) continue;
      const { loaded_mb, size_mb, reason } = component.partial;
      const values = { component: component.name, loaded: loaded_mb, size: size_mb, reason };
      lines.push(indent(indent(messages.get('runtimePartial', values))));
    }
  }
  lines.push('', messages.get('runtimePolicy'));
  for (const [key, value] of Object.entries(snapshot.policy))
    lines.push(indent(`${key} = ${JSON.stringify(value)}`));
  await print(around, lines.join('\n'));
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

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

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createBackend } from './create-backend.ts';
import { Host } from './host.ts';
import type { StartProcess } from './isolated/own-process.ts';
import { runDeviceTask } from './isolated/run-task.ts';
import { processThroughPort } from './isolated/through-port.ts';
import type { FromHost, HostOptions, ToHost } from './protocol.ts';

const port = parentPort;
if (!port) throw new Error('host-worker is started by the studio as a worker thread.');

function send(message: FromHost, transfer: (ArrayBuffer | MessagePort)[] = []): void {
  port!.postMessage(message, transfer);
}

/** Buffers that a message may take along: whole ones only, since a view's neighbours would go with it. */
function transferable(value: unknown): ArrayBuffer[] {
  if (!(value instanceof Float32Array || value instanceof Uint8Array)) return [];
  const { buffer, byteLength } = value;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/** Only the main thread can start processes in every shell. */
const startProcess: StartProcess = (program) =>
  processThroughPort((port) => send({ type: 'process', program, port }, [port]));
const options = workerData as HostOptions;

const host = new Host(
  options,
  (own, log, settings, prompts) => createBackend(own, log, settings, prompts, startProcess),
  (name, data) => {
    send(
      { type: 'event', name, data },
      name === 'job.audio' ? transferable((data as { samples?: unknown }).samples) : [],
    );
  },
  options.testEngines
    ? undefined
    : async () => void (await runDeviceTask(() => startProcess('device-process'), { kind: 'list' })),
);

let closing: Promise<void> | null = null;

port.on('message', async (message: ToHost) => {
  if (message.type === 'close') {
    closing ??= host.close();
    await closing;
    send({ type: 'closed' });
    port.close();
    return;
  }
  const reply = await host.handle(message.name, message.request);
  if (!reply.ok) return send({ type: 'reply', id: message.id, ...reply });
  const wav =
    message.name === 'jobs.wav' || message.name === 'voices.audio'
      ? (reply.response as { wav: unknown }).wav
      : null;
  send({ type: 'reply', id: message.id, ...reply }, transferable(wav));
});

send({ type: 'ready' });

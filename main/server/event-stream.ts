import type { ServerResponse } from 'node:http';
import {
  type EventName,
  encodeFrame,
  eventNames,
  type StreamMessage,
  type StudioClient,
  wireContentType,
} from '../contract/index.ts';
import { securityHeaders } from './static-files.ts';

const beatMs = 15_000;
/** A page that does not read: first it misses what a later event repeats, then it is let go. */
const lagBytes = 1024 * 1024;
const lostBytes = 64 * 1024 * 1024;
const repeated: ReadonlySet<EventName> = new Set(['runtime.changed', 'job.progress']);

/** One page's endless response: events of the client (all, or these) as frames, until either side ends it. */
export function streamEvents(
  client: StudioClient,
  response: ServerResponse,
  names: readonly EventName[] = eventNames,
): void {
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': wireContentType,
    'cache-control': 'no-store',
  });
  const send = (message: StreamMessage) => {
    if (response.writableLength > lostBytes) response.destroy();
    else response.write(encodeFrame(message));
  };
  const unsubscribe = names.map((name) =>
    client.on(name, (data) => {
      if (repeated.has(name) && response.writableLength > lagBytes) return;
      send({ type: 'event', name, data });
    }),
  );
  const beat = setInterval(() => send({ type: 'beat' }), beatMs);
  response.on('close', () => {
    clearInterval(beat);
    for (const off of unsubscribe) off();
  });
  send({ type: 'hello', pid: process.pid });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventData, EventName } from '../../contract/index.ts';
import { Host } from '../host.ts';
import type { Emit } from '../job-queue.ts';
import type { HostOptions } from '../protocol.ts';
import { ToneBackend } from './tone-engine.ts';

export interface SeenEvent<N extends EventName = EventName> {
  name: N;
  data: EventData<N>;
  at: number;
}

/** A host in this thread over the tone engine, which is there once `opening` is over, with everything it sends. */
export function openTestHost(
  options: Partial<HostOptions> = {},
  opening: Promise<unknown> = Promise.resolve(),
) {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-host-'));
  const seen: SeenEvent[] = [];
  const waiting = new Set<() => void>();
  const emit: Emit = (name, data) => {
    seen.push({ name, data, at: performance.now() });
    for (const wake of waiting) wake();
  };
  const backend = new ToneBackend();
  const host = new Host(
    {
      configFolder: folder,
      cacheFolder: join(folder, 'cache'),
      keepAudio: true,
      testEngines: true,
      ...options,
    },
    async () => {
      await opening;
      return backend;
    },
    emit,
  );
  const of = <N extends EventName>(name: N) =>
    seen.filter((event): event is SeenEvent<N> => event.name === name);
  return {
    folder,
    host,
    backend,
    seen,
    of,
    /** The response, or a rejection with the error body. */
    async call(name: string, request: unknown): Promise<never> {
      const reply = await host.handle(name, request);
      if (!reply.ok) throw reply.error;
      return reply.response as never;
    },
    /** Resolves once an event of this name satisfies the test. */
    async until<N extends EventName>(
      name: N,
      test: (data: EventData<N>) => boolean = () => true,
    ): Promise<EventData<N>> {
      for (;;) {
        const found = of(name).find((event) => test(event.data));
        if (found) return found.data;
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
    },
    async close(): Promise<void> {
      await host.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

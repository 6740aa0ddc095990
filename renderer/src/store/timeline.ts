import { toErrorBody } from '../bridge/errors.ts';
import { traceName } from './file-name.ts';
import { joinTimeline } from './memory.ts';
import { notify } from './notices.ts';
import type { Studio } from './studio.ts';

/** A curve that changes faster than this only flickers. */
const restMs = 500;

/** Reads what is new whenever the host says that memory changed; returns the function that ends it. */
export function followTimeline(studio: Studio): () => void {
  const { store, bridge, parts } = studio;
  let timer: number | null = null;
  let asking = false;
  let again = false;
  let stopped = false;

  async function read(): Promise<void> {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    const { timeline, host } = store.getState();
    const pid = host?.pid ?? 0;
    const known = timeline.pid === pid;
    try {
      const news = await bridge.call('runtime.timeline', {
        after: known ? (timeline.events.at(-1)?.id ?? 0) : 0,
        since: known ? (timeline.samples.at(-1)?.at ?? 0) : 0,
      });
      store.setState((state) => ({ timeline: joinTimeline(state.timeline, news, pid) }));
    } catch {
      // The connection's own banner says so; the next change asks again.
    }
    asking = false;
    if (!stopped) timer = parts.setTimeout(rested, restMs);
  }

  function rested(): void {
    timer = null;
    if (again) void read();
  }

  void read();
  const unsubscribe = store.subscribe((state, before) => {
    if (state.runtime === before.runtime && state.host === before.host) return;
    if (timer === null) void read();
    else again = true;
  });
  return () => {
    stopped = true;
    unsubscribe();
    if (timer !== null) parts.clearTimeout(timer);
  };
}

/** Saves the whole trace where the person says. */
export async function exportTrace(studio: Studio): Promise<void> {
  try {
    const saved = await studio.bridge.saveTrace({ suggested_name: traceName(new Date(studio.parts.now())) });
    const inBrowser = studio.store.getState().shell.kind === 'browser';
    if (saved !== null) notify(studio, { kind: 'saved', path: saved.path, inBrowser });
  } catch (thrown) {
    notify(studio, { kind: 'failed', error: toErrorBody(thrown) });
  }
}

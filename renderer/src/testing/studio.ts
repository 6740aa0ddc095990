import type { RuntimeSnapshot } from '../../../main/contract/runtime.ts';
import { fakeEngine, fakeJob, fakeSettings, fakeSnapshot } from '../bridge/fake-data.ts';
import { FakeHost } from '../bridge/fake-host.ts';
import { keeper } from '../store/keep.ts';
import { createStudio, type Studio } from '../store/studio.ts';
import { startSync } from '../store/sync.ts';
import { type FakeOutput, fakeOutputs } from './fake-output.ts';
import { FakeTimers, settle } from './fake-timers.ts';

export interface TestStudio {
  studio: Studio;
  host: FakeHost;
  timers: FakeTimers;
  outputs: FakeOutput[];
  storage: Map<string, string>;
  stop: () => void;
}

/** The whole studio below the window, over a scripted host, a silent device and a clock that stands still. */
export async function testStudio(
  options: { link?: boolean; connect?: boolean; runtime?: RuntimeSnapshot } = {},
): Promise<TestStudio> {
  const timers = new FakeTimers();
  const { outputs, openOutput } = fakeOutputs();
  let jobs = 0;
  const host = new FakeHost({
    'host.info': () => ({ version: '0.1.0', ggml: '0.4.0', platform: 'linux-x64', pid: 1 }),
    'settings.get': () => fakeSettings(),
    'settings.set': ({ patch }) => fakeSettings(patch),
    'engines.list': () => ({ engines: [fakeEngine] }),
    'voices.list': () => ({ voices: [] }),
    'runtime.snapshot': () => options.runtime ?? fakeSnapshot(),
    'jobs.list': () => ({ jobs: [] }),
    'jobs.cancel': () => ({ state: 'stopping' as const }),
    speak: (request) => {
      const job_id = `job-${++jobs}`;
      host.emit(
        'job.queued',
        fakeJob({ job_id, text_preview: request.text.slice(0, 120), created_at: jobs }),
      );
      return { job_id };
    },
  });
  if (options.link) host.withLink();
  const storage = new Map<string, string>();
  const studio = createStudio({
    bridge: host,
    keeper: keeper({
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => void storage.set(key, value),
    } as Storage),
    openOutput,
    now: timers.now,
    setTimeout: timers.setTimeout,
    clearTimeout: timers.clearTimeout,
    setInterval: timers.setInterval,
    clearInterval: timers.clearInterval,
  });
  const stop = options.connect === false ? () => {} : startSync(studio);
  await settle();
  return { studio, host, timers, outputs, storage, stop };
}

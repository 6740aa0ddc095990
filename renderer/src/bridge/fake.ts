import { StudioError } from '../../../main/contract/errors.ts';
import type { Settings } from '../../../main/contract/settings.ts';
import type { Job, JobProgress, SpeakRequestInput } from '../../../main/contract/speech.ts';
import {
  fakeCpu,
  fakeEngine,
  fakeJob,
  fakeResult,
  fakeSettings,
  fakeSnapshot,
  fakeSpeech,
  partialSnapshot,
  wholly,
} from './fake-data.ts';
import { smallSnapshot, unifiedSnapshot } from './fake-devices.ts';
import { FakeHost } from './fake-host.ts';
import { emptyTimeline, fakeCurve, fakeTimeline, fakeWhatIf } from './fake-memory.ts';

const sampleRate = fakeEngine.sample_rate;

/**
 * The window without a host, for development: `?fake=live` (jobs run), `slow` (jobs take long), `stuck` (a job stays
 * half done), `error` (jobs fail), `partial` (a full graphics card), `small` (one on which memory ran out), `unified`
 * (graphics in main memory), `lost` (nobody answers). Language and theme by `&language=zh-CN&theme=dark`.
 */
export function fakeBridge(scenario: string): FakeHost {
  const query = new URLSearchParams(window.location.search);
  let settings: Settings = fakeSettings({
    'ui.language': (query.get('language') ?? 'system') as Settings['ui.language'],
    'ui.theme': (query.get('theme') ?? 'system') as Settings['ui.theme'],
  });
  let jobs: Job[] = [];
  let loaded = false;
  let pinned = false;
  let timeline: ReturnType<typeof fakeTimeline> | null = null;
  const snapshot = () => {
    if (scenario === 'partial') return partialSnapshot();
    if (scenario === 'small') return smallSnapshot();
    if (scenario === 'unified') return unifiedSnapshot();
    const model = { ...wholly(), pinned };
    const held = { ...fakeCpu.held, weights: model.size_bytes, compute: 22_000_000 };
    return loaded ? fakeSnapshot({ models: [model], devices: [{ ...fakeCpu, held }] }) : fakeSnapshot();
  };
  const changed = () => host.emit('runtime.changed', snapshot());

  const host: FakeHost = new FakeHost(
    {
      'host.info': () => {
        if (scenario === 'lost')
          throw new StudioError('host_unreachable', 'The engine host does not answer.');
        return { version: '0.1.0', ggml: '0.4.0', platform: 'linux-x64', pid: 4711 };
      },
      'settings.get': () => settings,
      'settings.set': ({ patch }) => {
        settings = { ...settings, ...patch };
        return settings;
      },
      'engines.list': () => ({ engines: [fakeEngine] }),
      'voices.list': () => ({ voices: [] }),
      'runtime.snapshot': snapshot,
      'jobs.list': () => ({ jobs }),
      'jobs.get': ({ job_id }) => jobs.find((job) => job.job_id === job_id)!,
      speak: (request) => {
        const job = fakeJob({
          job_id: `job-${jobs.length + 1}`,
          text_preview: request.text.slice(0, 120),
          created_at: Date.now(),
        });
        jobs = [...jobs, job];
        host.emit('job.queued', job);
        if (
          jobs.every((other) => other === job || ['finished', 'failed', 'cancelled'].includes(other.state))
        ) {
          void perform(job, request);
        } else waiting.push({ job, request });
        return { job_id: job.job_id };
      },
      'jobs.cancel': ({ job_id }) => {
        cancelled.add(job_id);
        return { state: 'stopping' };
      },
      'runtime.what_if': (request) => fakeWhatIf(request, snapshot()),
      'runtime.what_if_curve': (request) => fakeCurve(request, snapshot()),
      'runtime.timeline': ({ after = 0, since = 0 }) => {
        const all =
          scenario === 'partial' || scenario === 'small'
            ? fakeTimeline(Date.now())
            : emptyTimeline(Date.now());
        timeline ??= all;
        return {
          ...timeline,
          at: Date.now(),
          events: timeline.events.filter(({ id }) => id > after),
          samples: timeline.samples.filter(({ at }) => at > since),
        };
      },
      'models.load': () => {
        loaded = true;
        return snapshot();
      },
      'models.unload': () => {
        loaded = false;
        setTimeout(changed, 10);
        return { freed_bytes: 30_900_000 };
      },
      'models.pin': (request) => {
        pinned = request.pinned;
        return snapshot();
      },
    },
    { locale: query.get('locale') ?? 'en-US' },
  );

  const cancelled = new Set<string>();
  const waiting: { job: Job; request: SpeakRequestInput }[] = [];
  const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const update = (id: string, patch: Partial<Job>) => {
    jobs = jobs.map((job) => (job.job_id === id ? { ...job, ...patch } : job));
  };

  async function perform(job: Job, request: SpeakRequestInput): Promise<void> {
    const id = job.job_id;
    const sentences = request.text.match(/[^.!?\n]+[.!?\n]*/g) ?? [request.text];
    const began = Date.now();
    const stepTime = scenario === 'slow' || scenario === 'stuck' ? 700 : 120;
    const progress = (patch: Partial<JobProgress>) => {
      const full: JobProgress = {
        job_id: id,
        state: 'running',
        stage: null,
        fraction: 0,
        chunks_done: 0,
        chunks_total: sentences.length,
        elapsed_seconds: (Date.now() - began) / 1000,
        remaining_seconds: null,
        ...patch,
      };
      update(id, { state: full.state, progress: full });
      host.emit('job.progress', full);
    };
    if (!loaded) {
      progress({ state: 'loading' });
      await pause(stepTime * 2);
      loaded = true;
      changed();
    }
    let start = 0;
    for (const [index, sentence] of sentences.entries()) {
      const fraction = index / sentences.length;
      const left = ((sentences.length - index) * 2 * stepTime) / 1000;
      progress({ stage: 'acoustic', fraction, chunks_done: index, remaining_seconds: left });
      await pause(stepTime);
      if (scenario === 'error') {
        const error = new StudioError(
          'text_not_speakable',
          'The text is written in Han, which Mini cannot speak. It speaks English text: change the text, or choose a model for that language.',
          {
            params: {
              script: 'Han',
              share: 100,
              speaks: 'English text (letters a to z, digits and common signs)',
            },
          },
        ).toBody();
        update(id, { state: 'failed', error });
        host.emit('job.failed', { job_id: id, error });
        break;
      }
      if (cancelled.has(id)) {
        update(id, { state: 'cancelled' });
        host.emit('job.cancelled', { job_id: id });
        break;
      }
      progress({ stage: 'vocoder', fraction: fraction + 0.5 / sentences.length, chunks_done: index });
      await pause(stepTime);
      const samples = fakeSpeech(sentence, (sentence.length * 0.07 + 0.3) / (request.speed ?? 1));
      host.emit('job.audio', { job_id: id, index, sample_rate: sampleRate, start, samples, text: sentence });
      start += samples.length;
      if (scenario === 'stuck' && index === Math.floor(sentences.length / 2)) {
        progress({
          stage: 'vocoder',
          fraction: (index + 1) / sentences.length,
          chunks_done: index + 1,
          remaining_seconds: 12,
        });
        return;
      }
      if (index === sentences.length - 1) {
        const result = fakeResult({
          seconds: start / sampleRate,
          ...(request.seed === undefined ? {} : { seed: request.seed }),
          voice: request.voice ?? 'slt',
          applied: { speed: request.speed, pitch: request.pitch },
        });
        update(id, { state: 'finished', result });
        host.emit('job.finished', { job_id: id, result });
        changed();
      }
    }
    const next = waiting.shift();
    if (next !== undefined) void perform(next.job, next.request);
  }
  return host;
}

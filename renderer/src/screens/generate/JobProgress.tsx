import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { stageWords } from '../../../../main/contract/models.ts';
import type { Job } from '../../../../main/contract/speech.ts';
import { queuePosition } from '../../store/jobs.ts';
import { selectModelOf } from '../../store/runtime.ts';
import { Level } from '../../ui/Level.tsx';
import { useFormat, useLanguage, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** Waiting, loading with bytes, then stage and chunk; elapsed counts on between the host's messages. */
export function JobProgress({ job }: { job: Job }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { progress } = job;
  const model = useStudioState((state) => selectModelOf(state, job.model));
  const text = useStateText(job);
  const elapsed = useElapsed(job);

  let value: number | null = progress?.fraction ?? null;
  if (job.state === 'waiting') value = 0;
  if (job.state === 'loading') {
    value = model === undefined || model.size_bytes === 0 ? null : model.loaded_bytes / model.size_bytes;
  }
  return (
    <div data-testid="progress" data-state={job.state}>
      <div className="mb-1.5 flex flex-wrap justify-between gap-x-4 text-xs">
        <span className="font-medium">{text}</span>
        <span className="flex gap-3 text-ink-soft">
          {elapsed !== null && <span>{t('progress.elapsed', { duration: format.span(elapsed) })}</span>}
          {progress?.remaining_seconds != null && (
            <span>{t('progress.remaining', { duration: format.span(progress.remaining_seconds) })}</span>
          )}
        </span>
      </div>
      <Level value={value} label={t('progress.label')} text={text} />
    </div>
  );
}

/** The state of a job in words. */
export function useStateText(job: Job): string {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const ahead = useStudioState((state) => queuePosition(state, job.job_id));
  const stopping = useStudioState((state) => state.jobStopping[job.job_id] === true);
  const model = useStudioState((state) => selectModelOf(state, job.model));
  const { progress } = job;
  if (stopping || job.state === 'stopping') return t('progress.stopping');
  if (job.state === 'waiting')
    return ahead > 0 ? t('progress.waitingAt', { count: ahead }) : t('progress.waiting');
  if (job.state === 'loading') {
    if (model === undefined || model.state !== 'loading') return t('progress.loading');
    return t('progress.loadingBytes', {
      loaded: format.bytes(model.loaded_bytes),
      total: format.bytes(model.size_bytes),
    });
  }
  const stage = progress?.stage ?? null;
  const words = stage === null ? t('progress.running') : (stageWords[stage]?.[language] ?? stage);
  if (progress === null || progress.chunks_total < 2) return words;
  const chunk = t('progress.chunk', {
    done: format.number(Math.min(progress.chunks_done + 1, progress.chunks_total)),
    total: format.number(progress.chunks_total),
  });
  return format.parts([words, chunk]);
}

/** The host's elapsed time, counted on; null before it has begun. */
function useElapsed(job: Job): number | null {
  const { parts } = useStudio();
  const told = job.progress?.elapsed_seconds ?? null;
  const [offset, setOffset] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each message starts the count anew.
  useEffect(() => {
    const at = parts.now();
    setOffset(0);
    const timer = setInterval(() => setOffset((parts.now() - at) / 1000), 500);
    return () => clearInterval(timer);
  }, [job.progress, parts]);
  return told === null ? null : told + offset;
}

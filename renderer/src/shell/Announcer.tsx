import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { hasAudio, isFinal } from '../store/jobs.ts';
import { useFormat, useStudio, useStudioState } from '../ui/studio-context.ts';

const quietFor = 5000;

/** Tells a screen reader how the newest job fares: progress at most once in five seconds, its end at once. */
export function Announcer() {
  const { t } = useTranslation();
  const format = useFormat();
  const { parts } = useStudio();
  const job = useStudioState((state) => {
    const active = state.jobOrder
      .map((id) => state.jobs[id]!)
      .find((one) => !isFinal(one) && one.state !== 'waiting');
    return active ?? state.jobs[state.jobOrder.at(-1) ?? ''];
  });
  const audio = useStudioState((state) => (job === undefined ? undefined : state.jobAudio[job.job_id]));
  const [text, setText] = useState('');
  const said = useRef({ at: 0, key: '' });

  useEffect(() => {
    if (job === undefined) return;
    const say = (key: string, words: string) => {
      if (said.current.key === key) return;
      said.current = { at: parts.now(), key };
      setText(words);
    };
    if (job.state === 'finished') {
      say(`${job.job_id} end`, t('progress.finished', { duration: format.span(job.result?.seconds ?? 0) }));
    } else if (job.state === 'failed') say(`${job.job_id} end`, t('progress.failed'));
    else if (job.state === 'cancelled') {
      const seconds = audio === undefined ? 0 : audio.frames / audio.sampleRate;
      const kept = hasAudio(job, audio)
        ? t('results.partial', { duration: format.span(seconds) })
        : t('progress.cancelled');
      say(`${job.job_id} end`, kept);
    } else if (job.progress !== null && parts.now() - said.current.at >= quietFor) {
      const percent = format.percent(job.progress.fraction);
      say(`${job.job_id} ${percent}`, t('progress.announce', { percent }));
    }
  }, [job, audio, t, format, parts]);

  return (
    <p role="status" aria-live="polite" data-testid="announcer" className="sr-only">
      {text}
    </p>
  );
}

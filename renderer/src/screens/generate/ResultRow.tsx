import { Download, Pause, Play, RotateCcw, Square, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Job } from '../../../../main/contract/speech.ts';
import type { ErrorAction } from '../../errors/describe.ts';
import {
  deleteJob,
  editDraft,
  repeatJob,
  restoreSettings,
  saveJob,
  showScreen,
  stopJob,
} from '../../store/commands.ts';
import { hasAudio, isFinal } from '../../store/jobs.ts';
import { playJob, togglePlay } from '../../store/play.ts';
import type { Studio } from '../../store/studio.ts';
import { IconButton } from '../../ui/Button.tsx';
import { ErrorCard } from '../../ui/ErrorCard.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { Waveform } from '../../ui/Waveform.tsx';
import { useStateText } from './JobProgress.tsx';
import { ResultFacts } from './ResultFacts.tsx';

export function ResultRow({ jobId }: { jobId: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const job = useStudioState((state) => state.jobs[jobId]);
  const audio = useStudioState((state) => state.jobAudio[jobId]);
  const inPlayer = useStudioState((state) => state.player.jobId === jobId);
  const sounding = useStudioState(
    (state) =>
      state.player.jobId === jobId &&
      (state.player.status === 'playing' || state.player.status === 'waiting'),
  );
  if (job === undefined) return null;
  const title = job.text_preview.trim() || t('results.untitled');
  const playable = hasAudio(job, audio);
  return (
    <li
      data-testid="result"
      data-job={jobId}
      data-state={job.state}
      className="appear flex flex-wrap items-center gap-x-3 py-2"
    >
      {job.state !== 'failed' && (
        <IconButton
          icon={sounding ? Pause : Play}
          data-testid="result-play"
          filled
          label={t(sounding ? 'results.pause' : 'results.play', { title })}
          hint={sounding ? t('player.pause') : t('player.play')}
          disabled={!playable}
          onClick={() => (inPlayer ? togglePlay(studio) : void playJob(studio, jobId))}
          className={playable ? 'text-accent-ink!' : ''}
        />
      )}
      {job.state !== 'failed' && (
        <div className="h-8 w-24 flex-none max-md:hidden">
          <Waveform
            recording={studio.library.peek(jobId)}
            frames={audio?.frames ?? 0}
            totalFrames={audio?.frames ?? 0}
            moving={false}
            growing={audio === undefined || !audio.complete}
            columnWidth={2}
          />
        </div>
      )}
      <div className="min-w-0 grow basis-40">
        <p className="truncate" title={title}>
          {title}
        </p>
        {isFinal(job) ? <ResultFacts job={job} audio={audio} /> : <StateLine job={job} />}
      </div>
      <time
        dateTime={new Date(job.created_at).toISOString()}
        className="flex-none text-ink-soft text-xs max-md:hidden"
      >
        {format.timeOfDay(job.created_at)}
      </time>
      <div className="flex flex-none">
        {isFinal(job) ? (
          <>
            {job.state !== 'failed' && (
              <IconButton
                icon={Download}
                data-testid="result-save"
                label={t('results.save', { title })}
                hint={t('player.saveHint')}
                disabled={!playable}
                onClick={() => void saveJob(studio, jobId)}
              />
            )}
            <IconButton
              icon={RotateCcw}
              data-testid="result-again"
              label={t('results.again', { title })}
              onClick={() => restoreSettings(studio, jobId)}
            />
            <IconButton
              icon={Trash2}
              data-testid="result-delete"
              label={t('results.delete', { title })}
              onClick={() => deleteJob(studio, jobId)}
            />
          </>
        ) : (
          <IconButton
            icon={Square}
            data-testid="result-stop"
            label={t('results.stop', { title })}
            onClick={() => void stopJob(studio, jobId)}
          />
        )}
      </div>
      {job.state === 'failed' && job.error !== null && (
        <div className="mt-2 basis-full">
          <ErrorCard error={job.error} onAction={(action) => act(studio, job, action)} />
        </div>
      )}
    </li>
  );
}

function StateLine({ job }: { job: Job }) {
  return <p className="truncate text-accent-ink text-xs">{useStateText(job)}</p>;
}

/** What the button of a failed job's card does. */
export function act(studio: Studio, job: Job | null, action: ErrorAction): void {
  switch (action) {
    case 'retry':
      if (job !== null) void repeatJob(studio, job.job_id);
      return;
    case 'edit_text':
      if (job !== null) restoreSettings(studio, job.job_id);
      document.getElementById('script')?.focus();
      return;
    case 'choose_voice':
      document.querySelector<HTMLElement>('[data-testid="voice"]')?.focus();
      return;
    case 'show_memory':
      showScreen(studio, 'memory');
      return;
    case 'reset_parameters':
      editDraft(studio, { speed: 1, pitch: 1 });
      return;
    case 'reconnect':
      studio.bridge.reconnect?.();
      return;
    case 'save_again':
      if (job !== null) void saveJob(studio, job.job_id);
  }
}

import { Ear, Info, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Job } from '../../../../main/contract/speech.ts';
import type { Finding } from '../../audio/checks.ts';
import type { Format } from '../../i18n/format.ts';
import { sayIn } from '../../i18n/said.ts';
import type { AudioSummary } from '../../store/jobs.ts';
import { playJob } from '../../store/play.ts';
import { Chip } from '../../ui/Chip.tsx';
import { useFormat, useLanguage, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** As many digits as tell slow models apart: `0.07×`, `3.4×`, `34×`. */
const times = (factor: number, format: Format): string =>
  `${format.number(factor, factor < 1 ? 2 : factor < 10 ? 1 : 0)}×`;

/** What a finished result says of itself, in one quiet line. */
export function ResultFacts({ job, audio }: { job: Job; audio: AudioSummary | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const { result } = job;
  const voice = useStudioState((state) => {
    const id = result?.voice ?? job.voice;
    const engine = state.engines.find((one) => one.id === job.engine);
    const known = [...(engine?.voices ?? []), ...state.savedVoices].find((one) => one.id === id);
    // A designed voice has no name: the model says what it is.
    return known?.name ?? (id || engine?.models.find((one) => one.id === job.model)?.name || null);
  });
  const seconds = result?.seconds ?? (audio === undefined ? 0 : audio.frames / audio.sampleRate);
  const applied = (key: 'speed' | 'pitch'): number | null => {
    const value = result?.applied[key];
    return typeof value === 'number' && value !== 1 ? value : null;
  };
  const [speed, pitch] = [applied('speed'), applied('pitch')];
  if (job.state === 'failed') return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-ink-soft text-xs">
      {job.state === 'cancelled' && (
        <span>
          {seconds > 0 ? t('results.partial', { duration: format.span(seconds) }) : t('results.cancelled')}
        </span>
      )}
      {job.state === 'finished' && <span>{format.clock(Math.max(1, Math.round(seconds)))}</span>}
      {voice !== null && <span>{voice}</span>}
      {speed !== null && <span>{t('results.speed', { factor: format.factor(speed) })}</span>}
      {pitch !== null && <span>{t('results.pitch', { factor: format.factor(pitch) })}</span>}
      {result !== null && (
        <span className="selectable max-lg:hidden">{t('results.seed', { seed: String(result.seed) })}</span>
      )}
      {job.source !== 'app' && <Chip>{t(`results.source.${job.source}`)}</Chip>}
      {result !== null && result.rtf > 0 && (
        <Chip
          hint={t('results.fasterHint', {
            compute: format.span(result.meta.compute_seconds),
            first: format.span(result.meta.first_audio_seconds),
          })}
        >
          {t('results.faster', { factor: times(1 / result.rtf, format) })}
        </Chip>
      )}
      {result !== null && Object.keys(result.meta.memory.partial).length > 0 && (
        <Chip
          tone="accent"
          hint={t('results.memoryHint', {
            peak: format.mebibytes(result.meta.memory.peak_mb),
            device: result.meta.memory.device,
            streamed: format.mebibytes(result.meta.memory.streamed_mb),
          })}
        >
          {t('results.memoryPartly', {
            loaded: format.mebibytes(result.meta.memory.loaded_mb),
            size: format.mebibytes(result.meta.memory.size_mb),
            device: result.meta.memory.device,
          })}
        </Chip>
      )}
      {result !== null && result.warnings.length > 0 && (
        <Chip tone="warning" hint={result.warnings.map((said) => sayIn(said, language, format)).join(' ')}>
          <Info aria-hidden size={11} />
          {t('results.warnings', { count: result.warnings.length })}
        </Chip>
      )}
      {audio?.findings.map((finding) => (
        <FindingBadge key={finding.kind} jobId={job.job_id} finding={finding} />
      ))}
    </div>
  );
}

/** A quiet word on what a listener would hear; a click plays the place. */
function FindingBadge({ jobId, finding }: { jobId: string; finding: Finding }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const text = useFindingText(finding, format);
  const at = 'at' in finding ? finding.at : null;
  const shape =
    'inline-flex items-center gap-1 rounded-full bg-warning-wash px-2 py-0.5 text-2xs text-warning-ink';
  if (at === null) {
    return (
      <span data-testid="finding" data-kind={finding.kind} className={shape}>
        <TriangleAlert aria-hidden size={11} />
        {text}
      </span>
    );
  }
  return (
    <button
      type="button"
      data-testid="finding"
      data-kind={finding.kind}
      title={t('findings.listen')}
      onClick={() => void playJob(studio, jobId, Math.max(0, at - 1))}
      className={`${shape} hover:underline`}
    >
      <Ear aria-hidden size={11} />
      {text}
    </button>
  );
}

function useFindingText(finding: Finding, format: Format): string {
  const { t } = useTranslation();
  switch (finding.kind) {
    case 'all_silent':
      return t('findings.all_silent');
    case 'silence':
      return t('findings.silence', { at: format.clock(finding.at), seconds: format.span(finding.seconds) });
    case 'clipping':
      return t('findings.clipping', { count: finding.count, at: format.clock(finding.at) });
    case 'not_finite':
      return t('findings.not_finite', { at: format.clock(finding.at) });
    case 'short':
    case 'long':
      return t(`findings.${finding.kind}`, {
        seconds: format.span(finding.seconds),
        expected: format.span(finding.expected),
      });
  }
}

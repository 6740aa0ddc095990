import { Square } from 'lucide-react';
import { useDeferredValue, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { maxTextLength } from '../../../../main/contract/speech.ts';
import { actionKeys } from '../../actions/registry.ts';
import { canGenerate, generate, stopRunning } from '../../store/commands.ts';
import { estimate, type GeneratePlan, planGenerate } from '../../store/estimate.ts';
import { selectRunningJob } from '../../store/jobs.ts';
import { measureText } from '../../store/text-metrics.ts';
import { Button } from '../../ui/Button.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';
import { JobProgress } from './JobProgress.tsx';

/** What will happen on the button, what happens now beside it. */
export function ActionBar() {
  const { t } = useTranslation();
  const studio = useStudio();
  const running = useStudioState(selectRunningJob);
  const stopping = useStudioState(
    (state) => running !== undefined && state.jobStopping[running.job_id] === true,
  );
  const platform = useStudioState((state) => state.shell.platform);
  return (
    <div className="flex min-h-14 flex-none flex-wrap items-center justify-end gap-3">
      <div className="min-w-0 grow basis-60">
        {running === undefined ? <Outlook /> : <JobProgress job={running} />}
      </div>
      {running !== undefined && (
        <Tip text={t('actions.stop')} keys={actionKeys('stop', platform)}>
          <Button
            data-testid="stop"
            icon={Square}
            disabled={stopping}
            onClick={() => stopRunning(studio)}
            className="min-h-11"
          >
            {stopping || running.state === 'stopping' ? t('generate.stopping') : t('generate.stop')}
          </Button>
        </Tip>
      )}
      <GenerateButton />
    </div>
  );
}

function GenerateButton() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  // The plan is a small object made anew each time: its parts are what changes.
  const kind = useStudioState((state) => planGenerate(state, maxTextLength).kind);
  const bytes = useStudioState((state) => {
    const plan = planGenerate(state, maxTextLength);
    return plan.kind === 'load_then_generate' ? plan.bytes : 0;
  });
  const platform = useStudioState((state) => state.shell.platform);
  const label: Record<GeneratePlan['kind'], string> = {
    no_text: t('generate.generate'),
    no_engine: t('generate.generate'),
    too_long: t('generate.generate'),
    no_voice: t('generate.noVoice'),
    no_description: t('generate.noDescription'),
    instruct_too_long: t('generate.instructTooLong'),
    offline: t('generate.generate'),
    queue: t('generate.queue'),
    load_then_generate: t('generate.load', { size: format.bytes(bytes) }),
    generate: t('generate.generate'),
  };
  const ready = canGenerate(kind);
  return (
    <Button
      kind="primary"
      data-testid="generate"
      data-plan={kind}
      disabled={!ready}
      onClick={() => void generate(studio)}
      className="min-h-11 min-w-36 px-5"
    >
      {label[kind]}
      {ready && <kbd className="ml-1 font-normal font-sans text-xs">{actionKeys('generate', platform)}</kbd>}
    </Button>
  );
}

/** Beside the button while nothing runs: what it will take, or what it waits for. */
function Outlook() {
  const { t } = useTranslation();
  const format = useFormat();
  const text = useStudioState((state) => state.draft.text);
  const kind = useStudioState((state) => planGenerate(state, maxTextLength).kind);
  const maximum = useStudioState((state) => {
    const plan = planGenerate(state, maxTextLength);
    return plan.kind === 'too_long' ? plan.maximum : maxTextLength;
  });
  const deferred = useDeferredValue(text);
  const metrics = useMemo(() => measureText(deferred), [deferred]);
  const seconds = useStudioState((state) => estimate(state, metrics).computeSeconds);
  if (kind === 'no_text') return <p className="text-ink-soft">{t('generate.noText')}</p>;
  if (kind === 'offline') return <p className="text-warning-ink">{t('generate.offline')}</p>;
  if (kind === 'too_long') {
    return (
      <p role="alert" className="text-danger-ink">
        {t('generate.tooLong', {
          characters: format.number(text.length),
          maximum: format.number(maximum),
        })}
      </p>
    );
  }
  if (seconds === null) return null;
  return (
    <p className="text-ink-soft">
      {seconds < 1 ? t('generate.takesMoment') : t('generate.takes', { duration: format.span(seconds) })}
    </p>
  );
}

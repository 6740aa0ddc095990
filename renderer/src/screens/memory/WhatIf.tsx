import { useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceSnapshot, ModelSnapshot } from '../../../../main/contract/runtime.ts';
import { deviceName } from '../../shell/device-name.ts';
import type { VramMode, WhatIfTrial } from '../../store/memory.ts';
import { applyTrial, forgetTrial, isTrial, refreshWhatIf, tryPolicy } from '../../store/what-if.ts';
import { Button } from '../../ui/Button.tsx';
import { ErrorCard } from '../../ui/ErrorCard.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { LimitSlider } from './LimitSlider.tsx';
import { Outlook } from './Outlook.tsx';
import { curvePicture, limitRange } from './what-if-parts.ts';

const modes: readonly VramMode[] = ['auto', 'high', 'normal', 'low', 'none', 'shared'];

/** Loaded models change an answer; while one of them works its numbers change all the time, which says nothing new. */
function signature(models: readonly ModelSnapshot[]): string {
  return models
    .map(({ id, state, pinned, loaded_bytes, last_used_at }) =>
      state === 'in_use' ? `${id} ${pinned} busy` : `${id} ${pinned} ${loaded_bytes} ${last_used_at}`,
    )
    .join(', ');
}

export function WhatIfSection() {
  const { t } = useTranslation();
  const runtime = useStudioState((state) => state.runtime);
  const devices = (runtime?.devices ?? []).filter(
    (device) => device.used && (device.kind !== 'cpu' || device.simulated),
  );
  return (
    <section aria-labelledby="what-if-title" className="mt-6">
      <h2 id="what-if-title" className="font-semibold text-ink-soft text-xs">
        {t('memory.whatIf.title')}
      </h2>
      <p className="mb-2 text-ink-soft text-xs">{t('memory.whatIf.subtitle')}</p>
      <div className="divide-y divide-line rounded-2xl border border-line bg-surface px-5">
        {devices.length === 0 && (
          <div data-testid="what-if-empty" className="py-4">
            <p className="font-semibold">{t('memory.whatIf.none')}</p>
            <p className="mt-1 max-w-prose text-ink-soft">{t('memory.whatIf.noneText')}</p>
          </div>
        )}
        {devices.map((device) => (
          <WhatIf
            key={device.id}
            device={device}
            models={runtime!.models.filter((model) => model.device === device.id)}
          />
        ))}
      </div>
    </section>
  );
}

function WhatIf({ device, models }: { device: DeviceSnapshot; models: ModelSnapshot[] }) {
  const { t } = useTranslation();
  const studio = useStudio();
  const trial = useStudioState((state) => state.whatIf[device.id]);
  const limit = useStudioState((state) => state.settings?.['compute.vram_limit_mb'] ?? null);
  const mode = useStudioState((state) => state.settings?.['compute.vram_mode'] ?? 'auto');
  const state = `${signature(models)} ${device.total_bytes} ${limit} ${mode}`;
  const name = deviceName(device);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `state` says that the answer would be another one.
  useEffect(() => {
    if (models.length > 0) void refreshWhatIf(studio, device.id);
  }, [studio, device.id, state]);

  if (models.length === 0 || trial === undefined) {
    return (
      <p data-testid="what-if-empty" className="py-4 text-ink-soft">
        {t('memory.whatIf.noModel', { device: name })}
      </p>
    );
  }
  return (
    <article data-testid="what-if" data-device={device.id} aria-label={name} className="py-4">
      <Controls device={device} name={name} trial={trial} />
      {trial.error !== null && (
        <div className="mt-3">
          <ErrorCard
            error={trial.error}
            onAction={(action) => action === 'retry' && void refreshWhatIf(studio, device.id)}
          />
        </div>
      )}
      <div className="divide-y divide-line">
        {trial.answer?.models.map((answer) => (
          <Outlook
            key={answer.model}
            answer={answer}
            name={models.find(({ id }) => id === answer.model)?.name ?? answer.model}
          />
        ))}
        {trial.answer?.unknown.map((id) => (
          <p key={id} data-testid="what-if-unknown" className="pt-3 text-ink-soft">
            {t('memory.whatIf.notAsked', { model: models.find((model) => model.id === id)?.name ?? id })}
          </p>
        ))}
      </div>
    </article>
  );
}

function Controls({ device, name, trial }: { device: DeviceSnapshot; name: string; trial: WhatIfTrial }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const settings = useStudioState((state) => state.settings);
  const range = useMemo(() => limitRange(device.total_bytes), [device.total_bytes]);
  const picture = useMemo(() => curvePicture(trial.curve, range), [trial.curve, range]);
  const trying = isTrial(trial, settings);
  const id = `mode-${device.id}`;
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
        <h3 className="font-semibold">{name}</h3>
        <div className="ml-auto flex items-center gap-2">
          <label htmlFor={id} className="text-ink-soft text-xs">
            {t('memory.whatIf.mode')}
          </label>
          <select
            id={id}
            data-testid="what-if-mode"
            className="select w-auto! min-h-8! max-w-64 text-xs"
            value={trial.mode}
            onChange={(event) => void tryPolicy(studio, device.id, { mode: event.target.value as VramMode })}
          >
            {modes.map((mode) => (
              <option key={mode} value={mode}>
                {t(`memory.whatIf.modes.${mode}`)}
              </option>
            ))}
          </select>
        </div>
      </div>
      <LimitSlider
        name={name}
        range={range}
        value={trial.limitMb}
        picture={picture}
        onChange={(limitMb) => void tryPolicy(studio, device.id, { limitMb })}
      />
      <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button
          kind="primary"
          data-testid="what-if-apply"
          // Stays focusable: who has just pressed it by key must not be thrown to the top of the page.
          aria-disabled={!trying || trial.applying}
          onClick={() => trying && void applyTrial(studio, device.id)}
          className="min-h-8 text-xs aria-disabled:bg-hover aria-disabled:text-ink-soft"
        >
          {!trying
            ? t('memory.whatIf.applied')
            : t(trial.limitMb === null ? 'memory.whatIf.applyMode' : 'memory.whatIf.apply')}
        </Button>
        <Button
          kind="quiet"
          data-testid="what-if-back"
          aria-disabled={!trying}
          onClick={() => trying && void forgetTrial(studio, device.id)}
          className="min-h-8 text-xs aria-disabled:text-ink-soft"
        >
          {t('memory.whatIf.back')}
        </Button>
        <span className="ml-auto text-ink-soft text-xs">
          {trial.answer?.models[0]?.last_prediction
            ? t('memory.whatIf.error', predictionText(trial.answer.models[0].last_prediction, format))
            : t('memory.whatIf.noError')}
        </span>
      </div>
    </>
  );
}

function predictionText(
  {
    predicted_seconds: predicted,
    measured_seconds: measured,
  }: { predicted_seconds: number; measured_seconds: number },
  format: ReturnType<typeof useFormat>,
) {
  const off = measured > 0 ? predicted / measured - 1 : 0;
  return {
    predicted: format.time(predicted),
    measured: format.time(measured),
    difference: format.signedPercent(off),
  };
}

import { Droplets } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { EngineInfo } from '../../../../main/contract/runtime.ts';
import { loadModel, showScreen } from '../../store/commands.ts';
import { Button } from '../../ui/Button.tsx';
import { Chip } from '../../ui/Chip.tsx';
import { ErrorCard } from '../../ui/ErrorCard.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { DeviceCard, RamCard } from './DeviceCard.tsx';
import { Incidents } from './Incidents.tsx';
import { ModelCard } from './ModelCard.tsx';
import { TimelineSection } from './Timeline.tsx';
import { WhatIfSection } from './WhatIf.tsx';

export function MemoryScreen() {
  const { t } = useTranslation();
  const runtime = useStudioState((state) => state.runtime);
  const engines = useStudioState((state) => state.engines);
  if (runtime === null) {
    return (
      <p role="status" className="p-6 text-ink-soft">
        {t('memory.loadingSnapshot')}
      </p>
    );
  }
  const missing = engines.filter((engine) => !runtime.models.some((model) => model.engine === engine.id));
  // What is used comes first; the others stay in sight, with the reason.
  const devices = [...runtime.devices].sort((a, b) => Number(b.used) - Number(a.used));
  return (
    <div data-testid="screen-memory" className="h-full overflow-y-auto px-4 pb-6 md:pl-2">
      <div className="mx-auto max-w-5xl">
        <header className="pt-1 pb-5">
          <h1 className="font-script font-semibold text-2xl tracking-tight">{t('memory.title')}</h1>
          <p className="text-ink-soft">{t('memory.subtitle')}</p>
        </header>
        <Incidents incidents={runtime.incidents} />
        <section aria-labelledby="devices-title">
          <h2 id="devices-title" className="mb-2 font-semibold text-ink-soft text-xs">
            {t('memory.devices')}
          </h2>
          <div className="divide-y divide-line rounded-2xl border border-line bg-surface px-5">
            {devices.map((device) => (
              <DeviceCard key={device.id} device={device} notes={device.used ? runtime.policy_notes : []} />
            ))}
            <RamCard host={runtime.host} />
          </div>
        </section>
        <section aria-labelledby="models-title" className="mt-6">
          <h2 id="models-title" className="mb-2 font-semibold text-ink-soft text-xs">
            {t('memory.models')}
          </h2>
          {runtime.models.length === 0 && <EmptyState />}
          {runtime.models.length + missing.length > 0 && (
            <div className="divide-y divide-line rounded-2xl border border-line bg-surface px-5">
              {runtime.models.map((model) => (
                <ModelCard
                  key={model.id}
                  model={model}
                  device={runtime.devices.find((device) => device.id === model.device)}
                />
              ))}
              {missing.map((engine) => (
                <NotLoaded key={engine.id} engine={engine} />
              ))}
            </div>
          )}
        </section>
        <WhatIfSection />
        <TimelineSection />
      </div>
    </div>
  );
}

function EmptyState() {
  const { t } = useTranslation();
  const studio = useStudio();
  return (
    <div
      data-testid="memory-empty"
      className="mb-3 flex items-start gap-4 rounded-2xl bg-accent-wash px-5 py-4"
    >
      <Droplets aria-hidden size={22} className="mt-0.5 flex-none text-accent-ink" />
      <div>
        <p className="font-semibold">{t('memory.empty')}</p>
        <p className="mt-1 max-w-prose">{t('memory.emptyText')}</p>
        <Button kind="quiet" className="-ml-3.5 mt-1" onClick={() => showScreen(studio, 'generate')}>
          {t('memory.emptyAction')}
        </Button>
      </div>
    </div>
  );
}

/** An engine that could be loaded now; after an unload it says what that gave back. */
function NotLoaded({ engine }: { engine: EngineInfo }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const busy = useStudioState((state) => state.modelBusy[engine.id] === 'load');
  const freed = useStudioState((state) => state.modelFreed[engine.id]);
  const error = useStudioState((state) => state.modelError[engine.id]);
  return (
    <article data-testid="not-loaded" data-model={engine.id} aria-label={engine.name} className="py-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="font-semibold">{engine.name}</h3>
        <Chip>{t('memory.notLoaded')}</Chip>
        <span className="text-ink-soft text-xs">
          {t('memory.notLoadedSize', { size: format.bytes(engine.size_bytes) })}
        </span>
        {freed !== undefined && (
          <span data-testid="freed" className="text-accent-ink text-xs">
            {t('memory.freed', { bytes: format.bytes(freed) })}
          </span>
        )}
        <Button
          data-testid="load"
          aria-label={t('memory.loadLabel', { model: engine.name })}
          disabled={busy}
          onClick={() => void loadModel(studio, engine.id)}
          className="ml-auto min-h-8 text-xs"
        >
          {busy ? t('memory.states.loading') : t('memory.load')}
        </Button>
      </div>
      {error !== undefined && (
        <div className="mt-3">
          <ErrorCard
            error={error}
            onAction={(action) => action === 'retry' && void loadModel(studio, engine.id)}
          />
        </div>
      )}
    </article>
  );
}

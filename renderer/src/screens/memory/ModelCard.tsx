import { Lock, LockOpen } from 'lucide-react';
import { Switch } from 'radix-ui';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceSnapshot, ModelSnapshot } from '../../../../main/contract/runtime.ts';
import { deviceName } from '../../shell/device-name.ts';
import { pinModel, unloadModel } from '../../store/commands.ts';
import { Button } from '../../ui/Button.tsx';
import { Chip } from '../../ui/Chip.tsx';
import { ErrorCard } from '../../ui/ErrorCard.tsx';
import { Level } from '../../ui/Level.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';
import { CalibrationChip } from './CalibrationChip.tsx';
import { Components } from './Components.tsx';
import { PartialReason } from './PartialReason.tsx';

const stateTones = {
  loading: 'accent',
  in_use: 'accent',
  idle: 'quiet',
  unloading: 'quiet',
  failed: 'danger',
} as const;

export function ModelCard({ model, device }: { model: ModelSnapshot; device: DeviceSnapshot | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  const error = useStudioState((state) => state.modelError[model.id]);
  const where = device === undefined ? model.device : deviceName(device);
  const share = model.size_bytes === 0 ? 1 : Math.min(1, model.loaded_bytes / model.size_bytes);
  const whole = model.loaded_bytes >= model.size_bytes;
  const placed =
    model.state !== 'loading' && whole
      ? t('memory.wholly', { size: format.bytes(model.size_bytes), device: where })
      : t('memory.loadedBytes', {
          loaded: format.bytes(model.loaded_bytes),
          size: format.bytes(model.size_bytes),
          device: where,
        });
  const partial = model.components.filter((component) => component.partial !== null);
  return (
    <article
      data-testid="model"
      data-model={model.id}
      data-state={model.state}
      aria-label={model.name}
      className="py-4"
    >
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="font-semibold">{model.name}</h3>
        <Chip tone={stateTones[model.state]}>
          {model.state === 'idle'
            ? t('memory.idleSince', { time: format.timeOfDay(model.last_used_at) })
            : t(`memory.states.${model.state}`)}
        </Chip>
        {partial.length > 0 && model.state !== 'loading' && (
          <Chip tone="warning">{t('memory.partlyLoaded')}</Chip>
        )}
        <div className="ml-auto flex items-center gap-4">
          <Pin model={model} />
          <Unload model={model} />
        </div>
      </div>
      <div className="mb-1.5 flex flex-wrap items-baseline justify-between gap-x-4 text-xs">
        <span>{placed}</span>
        <span className="text-ink-soft">{format.percent(share)}</span>
      </div>
      <Level value={share} label={t('memory.progressLabel', { model: model.name })} text={placed} />
      {model.state !== 'loading' &&
        partial.map((component) => (
          <PartialReason key={component.name} component={component} model={model.id} />
        ))}
      <dl className="mt-3 flex flex-wrap gap-x-6 gap-y-1.5 text-xs">
        {model.mapped_bytes > 0 && (
          <Fact
            name={t('memory.mappedBytes')}
            hint={t('memory.mappedBytesHint')}
            value={format.bytes(model.mapped_bytes)}
          />
        )}
        <Fact
          name={t('memory.hostBytes')}
          hint={t('memory.hostBytesHint')}
          value={format.bytes(model.host_bytes)}
        />
        <Fact
          name={t('memory.streamedBytes')}
          hint={t('memory.streamedBytesHint')}
          value={format.bytes(model.streamed_bytes)}
        />
        <div className="flex items-center gap-1.5">
          <dt className="text-ink-soft">{t('memory.calibration.label')}</dt>
          <dd>
            <CalibrationChip calibration={model.calibration} />
          </dd>
        </div>
      </dl>
      {model.components.length > 0 && <Components model={model} />}
      {error !== undefined && (
        <div className="mt-3">
          <ErrorCard error={error} />
        </div>
      )}
    </article>
  );
}

function Fact({ name, hint, value }: { name: string; hint: string; value: string }) {
  return (
    <Tip text={hint}>
      <div className="flex items-center gap-1.5">
        <dt className="text-ink-soft">{name}</dt>
        <dd className="font-medium">{value}</dd>
      </div>
    </Tip>
  );
}

function Pin({ model }: { model: ModelSnapshot }) {
  const { t } = useTranslation();
  const studio = useStudio();
  const busy = useStudioState((state) => state.modelBusy[model.id] === 'pin');
  const id = useId();
  const Icon = model.pinned ? Lock : LockOpen;
  return (
    <Tip text={t('memory.pinHint')}>
      <div className="flex items-center gap-2 text-xs">
        <Icon aria-hidden size={14} className={model.pinned ? 'text-accent-ink' : 'text-ink-soft'} />
        <label htmlFor={id}>{t('memory.pin')}</label>
        <Switch.Root
          id={id}
          data-testid="pin"
          aria-label={t('memory.pinLabel', { model: model.name })}
          checked={model.pinned}
          disabled={busy}
          onCheckedChange={(pinned) => void pinModel(studio, model.id, pinned)}
          className="relative h-5 w-9 rounded-full border border-line-strong bg-sunken transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent"
        >
          <Switch.Thumb className="block size-3.5 translate-x-0.5 rounded-full bg-line-strong transition-transform data-[state=checked]:translate-x-4.5 data-[state=checked]:bg-on-accent" />
        </Switch.Root>
      </div>
    </Tip>
  );
}

function Unload({ model }: { model: ModelSnapshot }) {
  const { t } = useTranslation();
  const studio = useStudio();
  const busy =
    useStudioState((state) => state.modelBusy[model.id] === 'unload') || model.state === 'unloading';
  const inUse = model.state === 'in_use';
  const button = (
    <Button
      data-testid="unload"
      aria-label={t('memory.unloadLabel', { model: model.name })}
      // Stays focusable, so that its tip can say why it does nothing now.
      aria-disabled={inUse || busy}
      onClick={() => !inUse && !busy && void unloadModel(studio, model.id, model.name)}
      className="min-h-8 text-xs aria-disabled:border-line aria-disabled:text-ink-soft aria-disabled:hover:bg-surface"
    >
      {busy ? t('memory.unloading') : t('memory.unload')}
    </Button>
  );
  return inUse ? <Tip text={t('memory.inUseHint')}>{button}</Tip> : button;
}

import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { DeviceSnapshot, RuntimeSnapshot } from '../../../../main/contract/runtime.ts';
import type { Said } from '../../../../main/contract/said.ts';
import { valueInChinese } from '../../../../main/contract/words.zh-CN.ts';
import { sayIn } from '../../i18n/said.ts';
import { deviceName } from '../../shell/device-name.ts';
import { Chip } from '../../ui/Chip.tsx';
import { useFormat, useLanguage } from '../../ui/studio-context.ts';
import { useNames } from './names.ts';
import { deviceParts, heldBytes, ramParts } from './parts.ts';
import { Vessel } from './Vessel.tsx';

/** What goes without saying: nobody is surprised that a graphics card has memory of its own. */
const quietNotes: readonly Said['code'][] = ['policy_auto', 'policy_processor'];

/** `notes`: where the policy in force there is not what is set. */
export function DeviceCard({ device, notes }: { device: DeviceSnapshot; notes: readonly Said[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const name = deviceName(device);
  const { part: free, whole: total } = format.bytesOf(device.free_bytes, device.total_bytes);
  const held = heldBytes(device);
  const language = useLanguage();
  const names = useNames();
  const description =
    language === 'en' ? device.description : valueInChinese('description', device.description);
  const why = sayIn(names.said(device.reason), language, format);
  const told = notes.filter(({ code }) => !quietNotes.includes(code));
  return (
    <article data-testid="device" data-device={device.id} aria-label={name} className="py-4">
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h3 className="font-semibold">{name}</h3>
        <p className="text-ink-soft text-xs">
          {device.simulated ? t('device.simulated') : t(`device.kinds.${device.kind}`)}
          {device.unified && ` · ${t('memory.unified')}`}
          {device.description !== '' && device.description !== name && ` · ${description}`}
        </p>
        <Chip tone={device.used ? 'accent' : 'quiet'} hint={why}>
          {device.used ? t('memory.used') : t('memory.notUsed')}
        </Chip>
        <p className="ml-auto text-xs">
          <span className="font-medium">{t('memory.freeOf', { free, total })}</span>
          {held > 0 && (
            <span className="text-ink-soft"> · {t('memory.held', { held: format.bytes(held) })}</span>
          )}
        </p>
      </div>
      <Vessel
        label={t('memory.barLabel', { device: name })}
        total={device.total_bytes}
        parts={deviceParts(device).map((part) => ({
          ...part,
          name: t(`memory.parts.${part.part}`),
          hint: t(`memory.partsHint.${part.part}`),
        }))}
        text={(part, bytes, percent) => t('memory.partText', { part, bytes, percent })}
      />
      {told.map((note) => (
        <p
          key={note.code}
          data-testid="policy-note"
          data-code={note.code}
          className="mt-2 flex gap-2 text-xs"
        >
          <Info aria-hidden size={14} className="mt-0.5 flex-none text-ink-soft" />
          <span>{sayIn(names.said(note), language, format)}</span>
        </p>
      ))}
    </article>
  );
}

export function RamCard({ host }: { host: RuntimeSnapshot['host'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { part: free, whole: total } = format.bytesOf(host.available_bytes, host.total_bytes);
  const hints = {
    process: t('memory.ram.processHint'),
    pinned: t('memory.ram.pinnedHint', { budget: format.bytes(host.pin_budget_bytes) }),
    others: t('memory.partsHint.others'),
    reserve: t('memory.partsHint.reserve'),
    available: t('memory.ram.availableHint'),
  };
  return (
    <article data-testid="ram" aria-label={t('memory.ram.title')} className="py-4">
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-3">
        <h3 className="font-semibold">{t('memory.ram.title')}</h3>
        <p className="font-medium text-xs">{t('memory.freeOf', { free, total })}</p>
      </div>
      <Vessel
        label={t('memory.barLabel', { device: t('memory.ram.title') })}
        total={host.total_bytes}
        parts={ramParts(host).map((part) => ({
          ...part,
          name: t(`memory.ram.${part.part}`),
          hint: hints[part.part],
        }))}
        text={(part, bytes, percent) => t('memory.partText', { part, bytes, percent })}
      />
    </article>
  );
}

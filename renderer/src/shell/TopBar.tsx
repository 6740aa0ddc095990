import { Cpu } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { valueInChinese } from '../../../main/contract/words.zh-CN.ts';
import { actionKeys } from '../actions/registry.ts';
import { showScreen } from '../store/commands.ts';
import { selectMainDevice } from '../store/runtime.ts';
import { useFormat, useLanguage, useStudio, useStudioState } from '../ui/studio-context.ts';
import { Tip } from '../ui/Tip.tsx';
import { deviceName } from './device-name.ts';
import { Mark } from './Mark.tsx';
import { Preferences } from './Preferences.tsx';

export function TopBar() {
  return (
    <header className="flex h-12 flex-none items-center gap-3 px-4">
      <Mark />
      <p className="flex items-baseline gap-2">
        <span className="font-script font-semibold text-base tracking-tight">Mizuoto</span>
        <span lang="ja" className="text-ink-soft text-xs max-sm:hidden">
          水音
        </span>
      </p>
      <div className="ml-auto flex min-w-0 items-center gap-2">
        <DeviceChip />
        <Preferences />
      </div>
    </header>
  );
}

function DeviceChip() {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const studio = useStudio();
  const device = useStudioState(selectMainDevice);
  const platform = useStudioState((state) => state.shell.platform);
  if (device === undefined)
    return <span className="truncate text-ink-soft text-xs">{t('device.unknown')}</span>;
  const { part, whole } = format.bytesOf(device.free_bytes, device.total_bytes);
  const names = { device: deviceName(device), free: part, total: whole };
  const full = 1 - device.free_bytes / Math.max(1, device.total_bytes);
  return (
    <Tip
      text={language === 'en' ? device.description : valueInChinese('description', device.description)}
      keys={actionKeys('showMemory', platform)}
      side="bottom"
    >
      <button
        type="button"
        data-testid="device-chip"
        aria-label={t('device.chipLabel', { ...names, free: format.bytes(device.free_bytes) })}
        onClick={() => showScreen(studio, 'memory')}
        className="flex min-w-0 items-center gap-2 rounded-full border border-line bg-surface px-3 py-1 text-xs hover:bg-hover"
      >
        <Cpu aria-hidden size={14} className="flex-none text-ink-soft" />
        <span className="truncate">{t('device.chip', names)}</span>
        <span
          aria-hidden
          className="relative h-1.5 w-10 flex-none overflow-hidden rounded-full bg-line max-sm:hidden"
        >
          <span
            className="absolute inset-y-0 left-0 rounded-full bg-accent"
            style={{ width: `${full * 100}%` }}
          />
        </span>
      </button>
    </Tip>
  );
}

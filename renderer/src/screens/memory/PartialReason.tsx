import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ComponentSnapshot } from '../../../../main/contract/runtime.ts';
import { useFormat } from '../../ui/studio-context.ts';
import { useNames } from './names.ts';

/** Why a component is only partly on the device, in words and with the numbers that were weighed. */
export function PartialReason({ component, model }: { component: ComponentSnapshot; model: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const names = useNames();
  const { partial } = component;
  if (partial === null) return null;
  return (
    <p data-testid="partial-reason" data-reason={partial.reason} className="mt-2 flex gap-2 text-xs">
      <Info aria-hidden size={14} className="mt-0.5 flex-none text-warning-ink" />
      <span>
        {t(`memory.reasons.${partial.reason}`, {
          component: component.name,
          loaded: format.mebibytes(partial.loaded_mb),
          size: format.mebibytes(partial.size_mb),
          free: format.mebibytes(partial.free_mb),
          working: format.mebibytes(partial.working_mb),
          reserve: format.mebibytes(partial.reserve_mb),
          other:
            partial.gave_up_for === null
              ? t('memory.anotherComponent')
              : names.component(partial.gave_up_for, model),
        })}
      </span>
    </p>
  );
}

import { History } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Incident } from '../../../../main/contract/runtime.ts';
import { sayIn } from '../../i18n/said.ts';
import { useFormat, useLanguage } from '../../ui/studio-context.ts';
import { useNames } from './names.ts';

/** Devices that were lost, drivers that crashed, files that are not as they should be; nothing where nothing happened. */
export function Incidents({ incidents }: { incidents: readonly Incident[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const names = useNames();
  if (incidents.length === 0) return null;
  return (
    <section aria-labelledby="incidents-title" className="mb-6 rounded-2xl bg-warning-wash px-5 py-4">
      <h2 id="incidents-title" className="mb-1 flex items-center gap-2 font-semibold">
        <History aria-hidden size={16} className="flex-none" />
        {t('memory.incidents')}
      </h2>
      <ul className="space-y-1">
        {incidents.map(({ at, said }) => (
          <li
            key={`${at} ${said.message}`}
            data-testid="incident"
            data-code={said.code}
            className="flex gap-3 text-xs"
          >
            <time dateTime={new Date(at).toISOString()} className="flex-none tabular-nums">
              {format.timeOfDay(at)}
            </time>
            <span className="max-w-prose">{sayIn(names.said(said), language, format)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { actionKeys } from '../../actions/registry.ts';
import { Button } from '../../ui/Button.tsx';
import { useStudioState } from '../../ui/studio-context.ts';
import { ResultRow } from './ResultRow.tsx';

const pageSize = 30;

/** What this run of the studio has made, newest first. */
export function Results() {
  const { t } = useTranslation();
  const order = useStudioState((state) => state.jobOrder);
  const hidden = useStudioState((state) => state.jobHidden);
  const platform = useStudioState((state) => state.shell.platform);
  const [limit, setLimit] = useState(pageSize);
  const ids = order.filter((id) => !hidden[id]).reverse();
  if (ids.length === 0) {
    return (
      <div className="flex-none py-5 text-center text-ink-soft" data-testid="results-empty">
        <p>{t('results.empty')}</p>
        <p className="mt-1 text-xs">
          {t('results.keys', {
            generate: actionKeys('generate', platform),
            stop: actionKeys('stop', platform),
            play: actionKeys('play', platform),
          })}
        </p>
      </div>
    );
  }
  return (
    <section aria-labelledby="results-title" className="flex max-h-[46%] min-h-40 flex-none flex-col">
      <h2 id="results-title" className="mb-1 flex-none font-semibold text-ink-soft text-xs">
        {t('results.title')}
      </h2>
      <ul data-testid="results" className="-mx-2 min-h-0 divide-y divide-line overflow-y-auto px-2">
        {ids.slice(0, limit).map((id) => (
          <ResultRow key={id} jobId={id} />
        ))}
        {ids.length > limit && (
          <li className="py-2 text-center">
            <Button kind="quiet" onClick={() => setLimit(limit + pageSize)}>
              {t('results.more', { count: Math.min(pageSize, ids.length - limit) })}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

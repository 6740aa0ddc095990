import { useTranslation } from 'react-i18next';
import type { WhatIfModel } from '../../../../main/contract/what-if.ts';
import { sayIn } from '../../i18n/said.ts';
import { Chip } from '../../ui/Chip.tsx';
import { Level } from '../../ui/Level.tsx';
import { useFormat, useLanguage } from '../../ui/studio-context.ts';
import { useNames } from './names.ts';
import { reasonOf, slowdown } from './what-if-parts.ts';

/** What a trial comes to for one model. Every row is always there, so that nothing jumps while the slider moves. */
export function Outlook({ answer, name }: { answer: WhatIfModel; name: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const names = useNames();
  const time = useTimeText(answer);
  const resident = format.bytes(answer.resident_bytes);
  const streamed = format.bytes(answer.streamed_bytes);
  const fits = answer.over_budget_bytes === 0;
  const room = answer.gives_up.map(({ id, bytes }) =>
    t('memory.whatIf.gives', { component: names.component(id), bytes: format.bytes(bytes) }),
  );
  return (
    <div data-testid="outlook" data-model={answer.model} data-fits={fits} className="pt-4 pb-2">
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
        <h4 className="font-semibold">{name}</h4>
        <Chip tone={fits ? 'accent' : 'warning'}>
          {fits
            ? t('memory.whatIf.fits')
            : t('memory.whatIf.short', { bytes: format.bytes(answer.over_budget_bytes) })}
        </Chip>
      </div>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 text-xs lg:grid-cols-[auto_1fr_auto_1fr]">
        <Reading name={t('memory.whatIf.resident')} id="resident" value={resident} />
        <Reading name={t('memory.whatIf.streamed')} id="streamed" value={streamed} />
        <Reading name={t('memory.whatIf.peak')} id="peak" value={format.bytes(answer.peak_bytes)} />
        <Reading
          name={t('memory.whatIf.makesRoom')}
          id="gives-up"
          value={room.length === 0 ? t('memory.whatIf.nobody') : format.list(room)}
        />
        <dt className="text-ink-soft">{t('memory.whatIf.time')}</dt>
        <dd data-testid="outlook-time" className="truncate font-medium lg:col-span-3">
          {time}
        </dd>
      </dl>
      <p aria-live="polite" className="sr-only">
        {t('memory.whatIf.summary', { model: name, resident, streamed, time })}
      </p>
      <ul className="mt-3 grid gap-x-6 gap-y-3 text-xs lg:grid-cols-2">
        {answer.components.map((component) => (
          <ComponentOutlook key={component.id} answer={answer} component={component} />
        ))}
      </ul>
    </div>
  );
}

function Reading({ name, id, value }: { name: string; id: string; value: string }) {
  return (
    <>
      <dt className="text-ink-soft">{name}</dt>
      <dd data-testid={`outlook-${id}`} title={value} className="truncate font-medium">
        {value}
      </dd>
    </>
  );
}

function ComponentOutlook({
  answer,
  component,
}: {
  answer: WhatIfModel;
  component: WhatIfModel['components'][number];
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const names = useNames();
  const { id, size_bytes: size, resident_bytes: resident } = component;
  const name = names.component(id, answer.model);
  const said = reasonOf(answer, id);
  const why = said === undefined ? '' : sayIn(names.said(said, answer.model), language, format);
  const { part, whole } = format.bytesOf(resident, size);
  return (
    <li data-testid="outlook-component" data-component={id} data-partial={component.partial ?? ''}>
      <div className="mb-1 flex items-baseline justify-between gap-3">
        <span className="truncate font-medium">{name}</span>
        <span className="flex-none">
          {part} / {whole}
          <span className="text-ink-soft">
            {' · '}
            {t('memory.unitsOf', {
              resident: format.number(component.units_resident),
              units: format.number(component.units),
            })}
          </span>
        </span>
      </div>
      <Level
        value={size === 0 ? 1 : Math.min(1, resident / size)}
        label={t('memory.whatIf.residentOf', {
          component: name,
          resident: format.bytes(resident),
          size: format.bytes(size),
        })}
      />
      <p title={why} className="mt-1 line-clamp-3 h-[3lh] text-ink-soft">
        {why}
      </p>
    </li>
  );
}

function useTimeText(answer: WhatIfModel): string {
  const { t } = useTranslation();
  const format = useFormat();
  const factor = slowdown(answer);
  if (factor === null || answer.seconds === null) return t('memory.whatIf.notMeasured');
  const time = format.time(answer.seconds);
  return factor === 1
    ? t('memory.whatIf.asFast', { time })
    : t('memory.whatIf.slower', { time, factor: format.factor(factor) });
}

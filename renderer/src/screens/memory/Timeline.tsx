import { Download } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TimelineEvent } from '../../../../main/contract/timeline.ts';
import { sayIn } from '../../i18n/said.ts';
import { deviceName } from '../../shell/device-name.ts';
import { exportTrace, followTimeline } from '../../store/timeline.ts';
import { Button } from '../../ui/Button.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { useFormat, useLanguage, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';
import { useNames } from './names.ts';
import { TimelineChart, tokenOf } from './TimelineChart.tsx';
import {
  courseOf,
  heldAt,
  type Mark,
  type MarkKind,
  markKinds,
  marksOf,
  type Span,
  type Split,
  windowOf,
} from './timeline-parts.ts';

/** The right edge of the picture moves on while nothing happens. */
const tickMs = 1000;
const listed = 60;

export function TimelineSection() {
  const { t } = useTranslation();
  const studio = useStudio();
  const devices = useTimelineDevices();
  const [wanted, setWanted] = useState<string | null>(null);
  useEffect(() => followTimeline(studio), [studio]);
  const device = devices.find(({ id }) => id === wanted) ?? devices[0];
  return (
    <section aria-labelledby="timeline-title" className="mt-6">
      <div className="mb-2 flex flex-wrap items-end gap-x-4 gap-y-2">
        <div>
          <h2 id="timeline-title" className="font-semibold text-ink-soft text-xs">
            {t('memory.timeline.title')}
          </h2>
          {device !== undefined && (
            <p className="text-ink-soft text-xs">{t('memory.timeline.subtitle', { device: device.name })}</p>
          )}
        </div>
        <Tip text={t('memory.timeline.exportHint')}>
          <Button
            data-testid="export-trace"
            icon={Download}
            onClick={() => void exportTrace(studio)}
            className="ml-auto min-h-8 text-xs"
          >
            {t('memory.timeline.export')}
          </Button>
        </Tip>
      </div>
      <div className="rounded-2xl border border-line bg-surface px-5 py-4">
        {device === undefined ? (
          <div data-testid="timeline-empty">
            <p className="font-semibold">{t('memory.timeline.empty')}</p>
            <p className="mt-1 max-w-prose text-ink-soft">{t('memory.timeline.emptyText')}</p>
          </div>
        ) : (
          <DeviceTimeline
            key={device.id}
            device={device}
            choice={
              devices.length > 1 && (
                <Segments
                  label={t('memory.timeline.device')}
                  value={device.id}
                  options={devices.map(({ id, name }) => ({ value: id, text: name }))}
                  onChange={setWanted}
                />
              )
            }
          />
        )}
      </div>
    </section>
  );
}

interface TimelineDevice {
  id: string;
  name: string;
}

/** Devices of which something was seen, those in use first. */
function useTimelineDevices(): TimelineDevice[] {
  const samples = useStudioState((state) => state.timeline.samples);
  const known = useStudioState((state) => state.runtime?.devices);
  return useMemo(() => {
    const ids = [...new Set(samples.map(({ device }) => device))];
    const used = (id: string): number => Number(known?.find((device) => device.id === id)?.used ?? false);
    return ids
      .sort((a, b) => used(b) - used(a))
      .map((id) => {
        const device = known?.find((one) => one.id === id);
        return { id, name: device === undefined ? id : deviceName(device) };
      });
  }, [samples, known]);
}

function DeviceTimeline({ device, choice }: { device: TimelineDevice; choice: React.ReactNode }) {
  const { t } = useTranslation();
  const format = useFormat();
  const say = useEventText();
  const { samples, events } = useStudioState((state) => state.timeline);
  const [split, setSplit] = useState<Split>('purpose');
  const [span, setSpan] = useState<Span>('tenMinutes');
  const [chosen, setChosen] = useState<Mark | null>(null);
  const [moment, setMoment] = useState<number | null>(null);
  const now = useNow();
  const marks = useMemo(() => marksOf(events, device.id), [events, device.id]);
  const range = useMemo(
    () => windowOf(span, now, samples.find((sample) => sample.device === device.id)?.at),
    [span, now, samples, device.id],
  );
  const course = useMemo(
    () => courseOf(samples, device.id, split, range),
    [samples, device.id, split, range],
  );
  const shown = useMemo(() => marks.filter(({ event }) => event.at >= range[0]), [marks, range]);
  const held = moment === null ? null : heldAt(course, moment);
  const readout =
    chosen !== null
      ? t('memory.timeline.eventAt', { time: format.exactTime(chosen.event.at), event: say(chosen.event) })
      : held !== null && moment !== null
        ? t('memory.timeline.heldAt', { time: format.exactTime(moment), held: format.bytes(held) })
        : t('memory.timeline.hint');
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-2 text-xs">
        {choice}
        <Segments
          label={t('memory.timeline.by')}
          value={split}
          options={[
            { value: 'purpose', text: t('memory.timeline.byPurpose') },
            { value: 'component', text: t('memory.timeline.byComponent') },
          ]}
          onChange={setSplit}
        />
        <div className="ml-auto">
          <Segments
            label={t('memory.timeline.span')}
            value={span}
            options={[
              { value: 'minute', text: t('memory.timeline.spans.minute') },
              { value: 'tenMinutes', text: t('memory.timeline.spans.tenMinutes') },
              { value: 'all', text: t('memory.timeline.spans.all') },
            ]}
            onChange={setSpan}
          />
        </div>
      </div>
      <TimelineChart
        course={course}
        range={range}
        marks={shown}
        chosen={chosen}
        label={t('memory.timeline.chart', {
          device: device.name,
          events: t('memory.timeline.chartEvents', { count: shown.length }),
        })}
        valueText={readout}
        onChoose={(mark) => {
          setChosen(mark);
          setMoment(null);
        }}
        onMoment={(at) => {
          setMoment(at);
          if (at !== null) setChosen(null);
        }}
      />
      <p
        data-testid="timeline-readout"
        data-event={chosen?.event.kind ?? ''}
        className="mt-1 line-clamp-2 h-[2lh] text-xs"
      >
        {readout}
      </p>
      <Keys course={course} marks={shown} />
      <EventList marks={marks} say={say} onChoose={setChosen} chosen={chosen} />
    </>
  );
}

/** Moves on by itself, and at once when something new is known. */
function useNow(): number {
  const studio = useStudio();
  const at = useStudioState((state) => state.timeline.at);
  const [now, setNow] = useState(() => studio.parts.now());
  useEffect(() => {
    const timer = studio.parts.setInterval(() => setNow(studio.parts.now()), tickMs);
    return () => studio.parts.clearInterval(timer);
  }, [studio]);
  return Math.max(now, at);
}

/** What the colours and signs mean. */
function Keys({ course, marks }: { course: ReturnType<typeof courseOf>; marks: readonly Mark[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const keys = course.layers.map(({ key }) => key);
  const names = useNames();
  const name = (key: string): string => {
    if (key === 'working') return t('memory.timeline.working');
    return key === 'weights' || key === 'slots' || key === 'state'
      ? t(`memory.parts.${key}`)
      : names.component(key);
  };
  const kinds = markKinds.filter((kind) => marks.some((mark) => mark.kind === kind));
  return (
    <ul className="mt-1 flex min-h-10 flex-wrap content-start gap-x-5 gap-y-1 text-xs">
      {course.layers.map(({ key, bytes }) => (
        <li key={key} className="flex items-center gap-1.5">
          <span aria-hidden className="swatch" style={{ background: `var(${tokenOf(key, keys)})` }} />
          <span className="text-ink-soft">{name(key)}</span>
          <span className="font-medium">{format.bytes(bytes.at(-1) ?? 0)}</span>
        </li>
      ))}
      {kinds.map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <Sign kind={kind} />
          <span className="text-ink-soft">{t(`memory.timeline.kinds.${kind}`)}</span>
        </li>
      ))}
    </ul>
  );
}

function Sign({ kind }: { kind: MarkKind }) {
  return <span aria-hidden className={`sign sign-${kind}`} />;
}

function EventList({
  marks,
  chosen,
  say,
  onChoose,
}: {
  marks: readonly Mark[];
  chosen: Mark | null;
  say: (event: TimelineEvent) => string;
  onChoose: (mark: Mark) => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <div className="mt-3 border-line border-t pt-3">
      <h3 className="mb-1 font-semibold text-ink-soft text-xs">{t('memory.timeline.events')}</h3>
      <ol className="h-44 overflow-y-auto text-xs">
        {marks.length === 0 && <li className="text-ink-soft">{t('memory.timeline.noEvents')}</li>}
        {marks
          .slice(-listed)
          .reverse()
          .map((mark) => (
            <li key={mark.event.id}>
              <button
                type="button"
                data-testid="timeline-event"
                data-kind={mark.event.kind}
                aria-pressed={mark.event.id === chosen?.event.id}
                onClick={() => onChoose(mark)}
                className="selectable flex w-full items-baseline gap-2 rounded px-1 py-0.5 text-left hover:bg-hover aria-pressed:bg-accent-wash"
              >
                <Sign kind={mark.kind} />
                <time className="flex-none text-ink-soft">{format.exactTime(mark.event.at)}</time>
                <span>{say(mark.event)}</span>
              </button>
            </li>
          ))}
      </ol>
    </div>
  );
}

/** One sentence: the decision behind an event where there is one, else what happened. */
function useEventText(): (event: TimelineEvent) => string {
  const { t } = useTranslation();
  const format = useFormat();
  const language = useLanguage();
  const names = useNames();
  return (event) => {
    if (event.said !== null) return sayIn(names.said(event.said), language, format);
    return t(`memory.timeline.says.${event.kind}`, {
      subject: names.component(event.subject),
      device: names.device(event.device),
      bytes: format.bytes(Math.abs(event.bytes)),
      units: format.number(event.units),
      time: format.time((event.milliseconds ?? 0) / 1000),
    });
  };
}

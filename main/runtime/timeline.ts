import { type Timeline, type TimelineEvent, type TimelineKind, timelineKinds } from '../contract/timeline.ts';
import type { TraceEvent } from '../memory/trace.ts';

const shown: ReadonlySet<string> = new Set(timelineKinds);

/** The trace as the timeline shows it: without the stages themselves, and with one event for all units placed in a row. */
export function timelineEvents(trace: readonly TraceEvent[]): Timeline['events'] {
  const events: TimelineEvent[] = [];
  for (const entry of trace) {
    if (!shown.has(entry.kind)) continue;
    const event = timelineEvent(entry);
    const last = events.at(-1);
    if (last?.kind === 'place' && event.kind === 'place' && last.subject === event.subject) {
      last.id = event.id;
      last.bytes += event.bytes;
      last.units += event.units;
      last.milliseconds = (last.milliseconds ?? 0) + (event.milliseconds ?? 0);
    } else events.push(event);
  }
  return events;
}

function timelineEvent({
  id,
  at,
  kind,
  device,
  subject,
  bytes,
  units,
  ms,
  code,
  params,
  text,
}: TraceEvent): TimelineEvent {
  return {
    id,
    at,
    kind: kind as TimelineKind,
    device,
    subject,
    bytes,
    units: units?.length ?? 0,
    milliseconds: ms ?? null,
    said: code === undefined || params === undefined ? null : { code, params, message: text ?? '' },
  };
}

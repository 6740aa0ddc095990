import type { ErrorBody } from '../../../main/contract/errors.ts';
import type { Settings } from '../../../main/contract/settings.ts';
import type { HeldSample, TimelineEvent } from '../../../main/contract/timeline.ts';
import type { WhatIfCurve, WhatIfResponse } from '../../../main/contract/what-if.ts';

export type VramMode = Settings['compute.vram_mode'];

/** What a person tries on a device; nothing of it is in force until it is applied. */
export interface WhatIfTrial {
  /** MiB; null: no limit. */
  limitMb: number | null;
  mode: VramMode;
  /** Whether the person moved something: then the settings no longer lead. */
  touched: boolean;
  answer: WhatIfResponse | null;
  curve: WhatIfCurve | null;
  error: ErrorBody | null;
  applying: boolean;
}

export interface TimelineState {
  events: TimelineEvent[];
  samples: HeldSample[];
  devices: { id: string; total_bytes: number }[];
  /** The host's clock at its last answer; 0: nothing was read yet. */
  at: number;
  /** The host process that told all this. */
  pid: number;
}

export interface MemorySlice {
  /** By device. */
  whatIf: Record<string, WhatIfTrial>;
  timeline: TimelineState;
}

const emptyTimeline = (pid: number): TimelineState => ({ events: [], samples: [], devices: [], at: 0, pid });

export const memorySlice = (): MemorySlice => ({ whatIf: {}, timeline: emptyTimeline(0) });

/** A window that stays open for days keeps as much as the host does. */
const mostEvents = 4096;
const mostSamples = 4096;

/** What is new, behind what is known. Units placed one by one are one event, also when two answers tell of them. */
export function joinTimeline(
  known: TimelineState,
  news: Omit<TimelineState, 'pid'>,
  pid: number,
): TimelineState {
  // A host that was started anew counts its events from one again.
  const before = known.pid === pid ? known : emptyTimeline(pid);
  const lastId = before.events.at(-1)?.id ?? 0;
  const events = [...before.events];
  for (const event of news.events) {
    if (event.id <= lastId) continue;
    const last = events.at(-1);
    const goesOn = last?.kind === 'place' && event.kind === 'place' && last.subject === event.subject;
    if (goesOn) events[events.length - 1] = joined(last, event);
    else events.push(event);
  }
  const latest = before.samples.at(-1)?.at ?? 0;
  return {
    events: events.slice(-mostEvents),
    samples: [...before.samples, ...news.samples.filter(({ at }) => at > latest)].slice(-mostSamples),
    devices: news.devices,
    at: news.at,
    pid,
  };
}

function joined(first: TimelineEvent, second: TimelineEvent): TimelineEvent {
  return {
    ...first,
    id: second.id,
    bytes: first.bytes + second.bytes,
    units: first.units + second.units,
    milliseconds: (first.milliseconds ?? 0) + (second.milliseconds ?? 0),
  };
}

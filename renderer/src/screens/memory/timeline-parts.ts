import type { HeldSample, TimelineEvent } from '../../../../main/contract/timeline.ts';

export type Split = 'purpose' | 'component';
export type Span = 'minute' | 'tenMinutes' | 'all';
export type MarkKind = 'load' | 'leave' | 'trouble' | 'calibration' | 'lease' | 'decision';

export const markKinds: readonly MarkKind[] = [
  'load',
  'leave',
  'trouble',
  'calibration',
  'lease',
  'decision',
];

export interface Mark {
  kind: MarkKind;
  event: TimelineEvent;
}

const kindOf: Partial<Record<TimelineEvent['kind'], MarkKind>> = {
  load: 'load',
  place: 'load',
  unload: 'leave',
  give_up: 'leave',
  out_of_memory: 'trouble',
  retry: 'trouble',
  fallback: 'trouble',
  warning: 'trouble',
  calibration: 'calibration',
  desktop: 'lease',
  wait: 'lease',
};

/** Decisions that a person notices; that everything fits is none. */
const noticed = /^(partial_|over_budget|working_)/;

/** What is worth a mark on a device, oldest first; a decision that is made again and again counts once. */
export function marksOf(events: readonly TimelineEvent[], device: string): Mark[] {
  const marks: Mark[] = [];
  const decided = new Map<string, string>();
  for (const event of events) {
    if (event.device !== device) continue;
    const decision = event.kind === 'plan' && event.said !== null && noticed.test(event.said.code);
    if (decision) {
      const about = `${event.subject} ${event.said!.params.component ?? ''}`;
      if (decided.get(about) === event.said!.message) continue;
      decided.set(about, event.said!.message);
    }
    const kind = decision ? 'decision' : kindOf[event.kind];
    if (kind !== undefined) marks.push({ kind, event });
  }
  return marks;
}

const spans: Record<Span, number> = { minute: 60_000, tenMinutes: 600_000, all: Number.POSITIVE_INFINITY };
/** Less is all marks and no course. */
const shortest = 20_000;

/** Start and end in milliseconds: the span that is asked for, as far as something is known of it. */
export function windowOf(span: Span, now: number, first: number | undefined): [number, number] {
  const known = Math.min(first ?? now, now - shortest);
  return [Math.max(known, now - spans[span]), now];
}

export interface Layer {
  /** A purpose, or `model:component`. */
  key: string;
  /** Bytes at each moment. */
  bytes: number[];
}

export interface Course {
  /** Milliseconds. */
  at: number[];
  /** From the bottom up. */
  layers: Layer[];
}

/** What a device held in a window, from its first moment to its last: steps that end where the window ends. */
export function courseOf(
  samples: readonly HeldSample[],
  device: string,
  split: Split,
  [from, to]: [number, number],
): Course {
  const own = samples.filter((sample) => sample.device === device && sample.at <= to);
  const before = own.findLast(({ at }) => at < from);
  const inside = own.filter(({ at }) => at >= from);
  const shown = before === undefined ? inside : [{ ...before, at: from }, ...inside];
  const last = shown.at(-1);
  if (last === undefined) return { at: [], layers: [] };
  const all = last.at < to ? [...shown, { ...last, at: to }] : shown;
  const layer = (key: string, pick: (sample: HeldSample) => number): Layer => ({ key, bytes: all.map(pick) });
  const rest = [
    layer('slots', ({ slots }) => slots),
    layer('working', ({ working }) => working),
    layer('state', ({ state }) => state),
  ];
  const weights =
    split === 'purpose' ? [layer('weights', (sample) => sample.weights)] : componentLayers(all, layer);
  return { at: all.map(({ at }) => at), layers: [...weights, ...rest] };
}

function componentLayers(
  samples: readonly HeldSample[],
  layer: (key: string, pick: (sample: HeldSample) => number) => Layer,
): Layer[] {
  const ids = [...new Set(samples.flatMap(({ components }) => components.map(([id]) => id)))].sort();
  return ids.map((id) => layer(id, ({ components }) => components.find(([one]) => one === id)?.[1] ?? 0));
}

/** Heights of the upper edges, the uppermost first: each area is drawn down to the ground, the lower ones over it. */
export function stacked({ layers }: Course): { key: string; tops: number[] }[] {
  const sums: number[] = [];
  return layers
    .map(({ key, bytes }) => ({
      key,
      tops: bytes.map((value, index) => {
        sums[index] = (sums[index] ?? 0) + value;
        return sums[index];
      }),
    }))
    .reverse();
}

/** Bytes held at a moment; null before the first sample. */
export function heldAt({ at, layers }: Course, moment: number): number | null {
  const index = at.findLastIndex((one) => one <= moment);
  return index < 0 ? null : layers.reduce((sum, { bytes }) => sum + bytes[index]!, 0);
}

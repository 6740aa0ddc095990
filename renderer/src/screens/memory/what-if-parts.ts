import type { WhatIfCurve, WhatIfModel } from '../../../../main/contract/what-if.ts';

const MiB = 1024 ** 2;

/** The slider's range in MiB; its upper end means "no limit". */
export interface LimitRange {
  minimum: number;
  maximum: number;
  step: number;
}

/** About a hundred steps, whole MiB, and a power of two where there is room for one. */
export function limitRange(totalBytes: number): LimitRange {
  const maximum = Math.max(1, Math.floor(totalBytes / MiB));
  const step = maximum < 128 ? 1 : 2 ** Math.round(Math.log2(maximum / 128));
  return { minimum: Math.min(step, maximum), maximum, step };
}

/** 0..1 along the slider. */
export function placeOf(mib: number, { minimum, maximum }: LimitRange): number {
  if (maximum === minimum) return 1;
  return Math.min(1, Math.max(0, (mib - minimum) / (maximum - minimum)));
}

/** The smallest whole MiB that is enough, within the slider. */
export function limitFor(bytes: number, { minimum, maximum }: LimitRange): number {
  return Math.min(maximum, Math.max(minimum, Math.ceil(bytes / MiB)));
}

export interface CurvePicture {
  /** Points of closed areas and of a line in a box of 1000 x 100, from left to right. */
  resident: string;
  streamed: string;
  time: string;
  /** Least limits for all models together, MiB; null where the whole device is too small, undefined without any curve. */
  smallest: number | null | undefined;
  whole: number | null | undefined;
}

/** All models' curves as one picture: weights add up, and so do times. */
export function curvePicture(curve: WhatIfCurve | null, range: LimitRange): CurvePicture {
  const curves = curve?.curves ?? [];
  const first = curves[0];
  if (first === undefined)
    return { resident: '', streamed: '', time: '', smallest: undefined, whole: undefined };
  const points = first.points.map((point, index) => {
    const same = curves.map(({ points: all }) => all[index]!);
    const sum = (pick: (one: (typeof same)[number]) => number): number =>
      same.reduce((total, one) => total + pick(one), 0);
    const measured = same.every(({ seconds }) => seconds !== null);
    return {
      x: Math.round(1000 * placeOf(point.limit_bytes / MiB, range)),
      resident: sum(({ resident_bytes }) => resident_bytes),
      all: sum(({ resident_bytes, streamed_bytes }) => resident_bytes + streamed_bytes),
      seconds: measured ? sum(({ seconds }) => seconds ?? 0) : null,
    };
  });
  const tallest = Math.max(1, ...points.map(({ all }) => all));
  const slowest = Math.max(...points.map(({ seconds }) => seconds ?? 0));
  const height = (share: number): number => Math.round(1000 * (100 - 88 * share)) / 1000;
  const top = (pick: (point: (typeof points)[number]) => number): string =>
    points.map((point) => `${point.x},${height(pick(point) / tallest)}`).join(' ');
  const timed = slowest > 0 ? points.filter(({ seconds }) => seconds !== null) : [];
  const worst = (pick: (one: (typeof curves)[number]) => number | null): number | null => {
    const bytes = curves.map(pick);
    return bytes.some((one) => one === null)
      ? null
      : limitFor(Math.max(...bytes.map((one) => one ?? 0)), range);
  };
  return {
    resident: `0,100 ${top(({ resident }) => resident)} 1000,100`,
    streamed: `0,100 ${top(({ all }) => all)} 1000,100`,
    time: timed.map(({ x, seconds }) => `${x},${height((seconds ?? 0) / slowest)}`).join(' '),
    smallest: worst(({ smallest_bytes }) => smallest_bytes),
    whole: worst(({ whole_bytes }) => whole_bytes),
  };
}

/** The reason that speaks of a component; the planner gives one for each. */
export function reasonOf(model: WhatIfModel, component: string): WhatIfModel['reasons'][number] | undefined {
  return model.reasons.find(
    ({ code, params }) => params.component === component && /^(whole|partial|residency)_/.test(code),
  );
}

/** Times longer than with everything resident; null until measured. Below 2 % it is no difference. */
export function slowdown({ seconds, resident_seconds }: WhatIfModel): number | null {
  if (seconds === null || resident_seconds === null || resident_seconds <= 0) return null;
  const factor = seconds / resident_seconds;
  return factor < 1.02 ? 1 : factor;
}

import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import { useFormat, useLanguage } from '../../ui/studio-context.ts';
import { useThemeKey } from '../../ui/theme-key.ts';
import { type Course, type Mark, type MarkKind, stacked } from './timeline-parts.ts';

/** The token of each purpose, and those that components take in turn. */
export const layerTokens: Record<string, string> = {
  weights: '--memory-weights',
  slots: '--memory-slots',
  working: '--memory-compute',
  state: '--memory-state',
};
const componentTokens = ['--memory-weights', '--memory-io', '--memory-part', '--memory-others'];

export const markTokens: Record<MarkKind, string> = {
  load: '--accent',
  leave: '--warning-ink',
  trouble: '--danger',
  calibration: '--memory-compute',
  lease: '--memory-io',
  decision: '--ink-soft',
};

/** The colour of a layer: purposes have their own, components take turns. */
export function tokenOf(key: string, keys: readonly string[]): string {
  const own = layerTokens[key];
  if (own !== undefined) return own;
  const components = keys.filter((other) => layerTokens[other] === undefined);
  return componentTokens[components.indexOf(key) % componentTokens.length]!;
}

const height = 200;
const lane = 18;
/** Powers of two, so that the axis has round numbers in every unit. */
const byteSteps = Array.from({ length: 44 }, (_, power) => 2 ** power);
/** Nearer than this, the pointer means the mark. */
const reach = 8;

interface Drawn {
  plot: uPlot;
  marks: Mark[];
  chosen: Mark | null;
}

/** What was held over time as steps, with a lane of marks above. One mark or moment is chosen, by pointer or keys. */
export function TimelineChart({
  course,
  range,
  marks,
  chosen,
  label,
  valueText,
  onChoose,
  onMoment,
}: {
  course: Course;
  /** Milliseconds. */
  range: [number, number];
  marks: Mark[];
  chosen: Mark | null;
  label: string;
  valueText: string;
  onChoose: (mark: Mark | null) => void;
  /** The pointer is at this moment, away from every mark; null: it has gone. */
  onMoment: (moment: number | null) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const format = useFormat();
  const language = useLanguage();
  const theme = useThemeKey();
  const listeners = useRef({ onChoose, onMoment });
  listeners.current = { onChoose, onMoment };
  const keys = course.layers.map(({ key }) => key);
  const shape = keys.join(' ');
  const data = useMemo((): uPlot.AlignedData => {
    const seconds = course.at.map((at) => at / 1000);
    return [seconds, ...stacked(course).map(({ tops }) => tops)];
  }, [course]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: built anew when its series, its words or its colours are others; data follow below.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const colour = (token: string): string => style.getPropertyValue(token).trim();
    const axis: uPlot.Axis = {
      stroke: colour('--ink-soft'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
      font: `11px ${style.fontFamily}`,
    };
    const step = uPlot.paths.stepped!({ align: 1 });
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
        padding: [lane, 28, 0, 0],
        scales: {
          x: { time: true, auto: false },
          y: { range: (_, __, top) => [0, Math.max(1024, top * 1.08)] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            space: 90,
            values: (_, moments, __, ___, seconds) =>
              moments.map((at) => (seconds < 60 ? format.exactTime(at * 1000) : format.timeOfDay(at * 1000))),
          },
          {
            ...axis,
            size: 74,
            space: 36,
            incrs: byteSteps,
            values: (_, sizes) => sizes.map((bytes) => format.bytes(bytes)),
          },
        ],
        series: [
          {},
          ...[...keys].reverse().map(
            (key): uPlot.Series => ({
              paths: step,
              fill: colour(tokenOf(key, keys)),
              stroke: colour('--surface'),
              width: 1,
              points: { show: false },
            }),
          ),
        ],
        hooks: {
          draw: [
            (self) => drawMarks(self, drawn.current?.marks ?? [], drawn.current?.chosen ?? null, colour),
          ],
          setCursor: [
            (self) => {
              const { left } = self.cursor;
              if (left === undefined || left < 0) {
                listeners.current.onMoment(null);
                return;
              }
              const near = nearest(self, drawn.current?.marks ?? [], left);
              if (near === null) listeners.current.onMoment(self.posToVal(left, 'x') * 1000);
              else listeners.current.onChoose(near);
            },
          ],
        },
      },
      data,
      element,
    );
    drawn.current = { plot, marks, chosen };
    plot.setScale('x', { min: range[0] / 1000, max: range[1] / 1000 });
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      drawn.current = null;
    };
  }, [shape, language, theme]);

  useEffect(() => {
    const now = drawn.current;
    if (now === null) return;
    now.marks = marks;
    now.chosen = chosen;
    now.plot.batch(() => {
      now.plot.setData(data, false);
      now.plot.setScale('x', { min: range[0] / 1000, max: range[1] / 1000 });
    });
    now.plot.redraw(false);
  }, [data, range, marks, chosen]);

  const index = chosen === null ? -1 : marks.findIndex(({ event }) => event.id === chosen.event.id);
  const go = (event: KeyboardEvent): void => {
    const last = marks.length - 1;
    const targets: Record<string, number> = {
      ArrowLeft: index < 0 ? last : Math.max(0, index - 1),
      ArrowDown: index < 0 ? last : Math.max(0, index - 1),
      ArrowRight: index < 0 ? last : Math.min(last, index + 1),
      ArrowUp: index < 0 ? last : Math.min(last, index + 1),
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (event.key === 'Escape' && chosen !== null) {
      // Esc puts the mark down; it must not stop a job as well.
      event.preventDefault();
      onChoose(null);
    }
    if (target === undefined || last < 0) return;
    event.preventDefault();
    onChoose(marks[target]!);
  };
  return (
    <div
      ref={box}
      role="slider"
      tabIndex={0}
      data-testid="timeline-chart"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, marks.length - 1)}
      aria-valuenow={Math.max(0, index)}
      aria-valuetext={valueText}
      onKeyDown={go}
      className="timeline-chart min-w-0 rounded-lg"
    />
  );
}

function nearest(plot: uPlot, marks: readonly Mark[], left: number): Mark | null {
  let best: Mark | null = null;
  let distance = reach;
  for (const mark of marks) {
    const away = Math.abs(plot.valToPos(mark.event.at / 1000, 'x') - left);
    if (away <= distance) {
      best = mark;
      distance = away;
    }
  }
  return best;
}

/** A small sign for each mark in the lane above, and a line through the picture at the chosen one. */
function drawMarks(
  plot: uPlot,
  marks: readonly Mark[],
  chosen: Mark | null,
  colour: (token: string) => string,
): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const middle = bbox.top - (lane / 2) * ratio;
  ctx.save();
  for (const mark of [...marks, ...(chosen === null ? [] : [chosen])]) {
    const x = plot.valToPos(mark.event.at / 1000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const isChosen = mark.event.id === chosen?.event.id;
    ctx.fillStyle = colour(markTokens[mark.kind]);
    ctx.strokeStyle = ctx.fillStyle;
    ctx.lineWidth = ratio;
    ctx.globalAlpha = isChosen ? 1 : 0.25;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    sign(ctx, mark.kind, x, middle, (isChosen ? 5.5 : 4) * ratio);
  }
  ctx.restore();
}

/** Told apart by shape as well as by colour. */
function sign(ctx: CanvasRenderingContext2D, kind: MarkKind, x: number, y: number, size: number): void {
  ctx.beginPath();
  if (kind === 'load' || kind === 'leave') {
    const up = kind === 'load' ? -1 : 1;
    ctx.moveTo(x, y + up * size);
    ctx.lineTo(x - size, y - up * size * 0.8);
    ctx.lineTo(x + size, y - up * size * 0.8);
  } else if (kind === 'trouble') ctx.arc(x, y, size, 0, Math.PI * 2);
  else if (kind === 'calibration') {
    ctx.moveTo(x, y - size);
    ctx.lineTo(x + size, y);
    ctx.lineTo(x, y + size);
    ctx.lineTo(x - size, y);
  } else if (kind === 'lease') ctx.rect(x - size * 0.8, y - size * 0.8, size * 1.6, size * 1.6);
  else ctx.rect(x - size * 0.35, y - size, size * 0.7, size * 2);
  ctx.closePath();
  ctx.fill();
}

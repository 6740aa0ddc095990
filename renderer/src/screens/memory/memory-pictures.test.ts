import { describe, expect, it } from 'vitest';
import { say } from '../../../../main/contract/said.ts';
import type { HeldSample, TimelineEvent } from '../../../../main/contract/timeline.ts';
import { partialSnapshot } from '../../bridge/fake-data.ts';
import { fakeCurve, fakeTimeline, fakeWhatIf } from '../../bridge/fake-memory.ts';
import { courseOf, heldAt, marksOf, stacked, windowOf } from './timeline-parts.ts';
import { curvePicture, limitFor, limitRange, placeOf, reasonOf, slowdown } from './what-if-parts.ts';

const MiB = 1024 ** 2;

describe('the slider of limits', () => {
  it('has whole MiB, about a hundred steps, and ends at the device', () => {
    expect(limitRange(7 * MiB)).toEqual({ minimum: 1, maximum: 7, step: 1 });
    expect(limitRange(12_288 * MiB)).toEqual({ minimum: 128, maximum: 12_288, step: 128 });
    expect(limitRange(0.4 * MiB)).toEqual({ minimum: 1, maximum: 1, step: 1 });
    for (const gib of [1, 2, 4, 6, 8, 11, 16, 24, 80, 192]) {
      const { maximum, step } = limitRange(gib * 1024 * MiB);
      expect(maximum / step).toBeGreaterThan(80);
      expect(maximum / step).toBeLessThan(200);
    }
  });

  it('names the least whole limit that is enough', () => {
    const range = limitRange(100 * MiB);
    expect(limitFor(6.2 * MiB, range)).toBe(7);
    expect(limitFor(0, range)).toBe(1);
    expect(limitFor(200 * MiB, range)).toBe(100);
    expect([placeOf(1, range), placeOf(100, range), placeOf(500, range)]).toEqual([0, 1, 1]);
  });

  it('draws weights and times of all models together', () => {
    const snapshot = partialSnapshot();
    const range = limitRange(12_288 * MiB);
    const curve = fakeCurve({ device: 'CUDA0' }, snapshot);
    const picture = curvePicture(curve, range);
    const heights = (points: string) => points.split(' ').map((point) => Number(point.split(',')[1]));
    const resident = heights(picture.resident).slice(1, -1);
    expect(resident).toHaveLength(48);
    // More memory: more weights (upwards is less), less time.
    expect(resident.at(-1)).toBeLessThan(resident[0]!);
    const times = heights(picture.time);
    expect(times.at(-1)).toBeGreaterThan(times[0]!);
    expect(picture.smallest).toBeGreaterThan(0);
    const unfit = { ...curve, curves: curve.curves.map((one) => ({ ...one, whole_bytes: null })) };
    expect(curvePicture(unfit, range).whole).toBeNull();
    expect(curvePicture(null, range).smallest).toBeUndefined();
  });

  it('finds the reason of each component, and how much longer it takes', () => {
    const { models } = fakeWhatIf({ device: 'CUDA0', limit_mb: 4000 }, partialSnapshot());
    const model = models[0]!;
    expect(reasonOf(model, 'qwen3-tts:1.7b:talker')?.code).toBe('partial_budget');
    expect(reasonOf(model, 'nobody')).toBeUndefined();
    expect(slowdown(model)).toBeGreaterThan(1.5);
    expect(slowdown({ ...model, seconds: 1.01, resident_seconds: 1 })).toBe(1);
    expect(slowdown({ ...model, seconds: null })).toBeNull();
  });
});

describe('the timeline', () => {
  const sample = (at: number, a: number, b: number): HeldSample => ({
    at,
    device: 'CUDA0',
    weights: a + b,
    slots: 1,
    working: 10,
    state: 0,
    others: 99,
    components: [
      ['m:a', a],
      ['m:b', b],
    ],
  });
  const samples = [sample(1000, 5, 0), { ...sample(2000, 7, 7), device: 'CPU' }, sample(3000, 5, 20)];

  it('goes in steps from edge to edge of the window', () => {
    const course = courseOf(samples, 'CUDA0', 'purpose', [2000, 4000]);
    // What held before the window holds at its beginning; what holds last holds until its end.
    expect(course.at).toEqual([2000, 3000, 4000]);
    expect(course.layers).toEqual([
      { key: 'weights', bytes: [5, 25, 25] },
      { key: 'slots', bytes: [1, 1, 1] },
      { key: 'working', bytes: [10, 10, 10] },
      { key: 'state', bytes: [0, 0, 0] },
    ]);
    expect(stacked(course).map(({ key, tops }) => [key, tops[1]])).toEqual([
      ['state', 36],
      ['working', 36],
      ['slots', 26],
      ['weights', 25],
    ]);
    expect([heldAt(course, 1999), heldAt(course, 2500), heldAt(course, 9999)]).toEqual([null, 16, 36]);
  });

  it('splits weights by component, and knows nothing of other devices', () => {
    const { layers } = courseOf(samples, 'CUDA0', 'component', [0, 4000]);
    expect(layers.slice(0, 2)).toEqual([
      { key: 'm:a', bytes: [5, 5, 5] },
      { key: 'm:b', bytes: [0, 20, 20] },
    ]);
    expect(courseOf(samples, 'Vulkan0', 'purpose', [0, 4000])).toEqual({ at: [], layers: [] });
  });

  it('shows what is known of the span that is asked for', () => {
    expect(windowOf('minute', 100_000, 0)).toEqual([40_000, 100_000]);
    expect(windowOf('tenMinutes', 100_000, 30_000)).toEqual([30_000, 100_000]);
    expect(windowOf('all', 1_000_000, 0)).toEqual([0, 1_000_000]);
    expect(windowOf('all', 100_000, 99_000)).toEqual([80_000, 100_000]);
  });

  it('marks what a person notices', () => {
    const { events } = fakeTimeline(0);
    expect(marksOf(events, 'CUDA0').map(({ kind }) => kind)).toEqual([
      'load',
      'load',
      'leave',
      'load',
      'trouble',
      'calibration',
      'lease',
    ]);
    expect(marksOf(events, 'CPU')).toEqual([]);
    const plan = (id: number, loaded: number): TimelineEvent => ({
      ...events[0]!,
      id,
      kind: 'plan',
      subject: 'talker',
      said: say('partial_none', { component: 'm:a', device: 'CUDA0', loaded, size: 9 }),
    });
    // The same decision for each sentence of a text is one.
    expect(marksOf([plan(1, 3), plan(2, 3), plan(3, 4)], 'CUDA0')).toHaveLength(2);
    const whole = { ...plan(4, 1), said: say('whole_high', { component: 'm:a', mode: 'high' }) };
    expect(marksOf([whole], 'CUDA0')).toEqual([]);
  });
});

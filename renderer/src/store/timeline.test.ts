import { describe, expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import type { HeldSample, TimelineEvent } from '../../../main/contract/timeline.ts';
import { fakeSnapshot } from '../bridge/fake-data.ts';
import { settle } from '../testing/fake-timers.ts';
import { testStudio } from '../testing/studio.ts';
import { joinTimeline, memorySlice } from './memory.ts';
import { exportTrace, followTimeline } from './timeline.ts';

const event = (id: number, patch: Partial<TimelineEvent> = {}): TimelineEvent => ({
  id,
  at: id * 1000,
  kind: 'load',
  device: 'CUDA0',
  subject: 'mini',
  bytes: 100,
  units: 0,
  milliseconds: null,
  said: null,
  ...patch,
});
const sample = (at: number, weights = 0): HeldSample => ({
  at,
  device: 'CUDA0',
  weights,
  slots: 0,
  working: 0,
  state: 0,
  others: 0,
  components: [],
});
const devices = [{ id: 'CUDA0', total_bytes: 1000 }];

describe('the timeline', () => {
  it('appends what is new, once', () => {
    const empty = memorySlice().timeline;
    const first = joinTimeline(empty, { at: 5, devices, events: [event(1)], samples: [sample(1)] }, 7);
    const news = { at: 9, devices, events: [event(1), event(2)], samples: [sample(1), sample(2, 5)] };
    const second = joinTimeline(first, news, 7);
    expect(second.events.map(({ id }) => id)).toEqual([1, 2]);
    expect(second.samples.map(({ at }) => at)).toEqual([1, 2]);
    expect(second.at).toBe(9);
  });

  it('joins units that were placed one by one, also across answers', () => {
    const place = (id: number) =>
      event(id, { kind: 'place', subject: 'mini:acoustic', units: 1, milliseconds: 2 });
    const first = joinTimeline(
      memorySlice().timeline,
      { at: 1, devices, samples: [], events: [place(1)] },
      7,
    );
    const second = joinTimeline(first, { at: 2, devices, samples: [], events: [place(3)] }, 7);
    expect(second.events).toEqual([
      event(3, { at: 1000, kind: 'place', subject: 'mini:acoustic', bytes: 200, units: 2, milliseconds: 4 }),
    ]);
  });

  it('begins anew with a new host, which counts from one again', () => {
    const old = joinTimeline(
      memorySlice().timeline,
      { at: 1, devices, samples: [sample(9)], events: [event(50)] },
      7,
    );
    const fresh = joinTimeline(old, { at: 2, devices, samples: [sample(3)], events: [event(1)] }, 8);
    expect(fresh.events.map(({ id }) => id)).toEqual([1]);
    expect(fresh.samples.map(({ at }) => at)).toEqual([3]);
  });

  it('keeps no more than the host does', () => {
    const events = Array.from({ length: 5000 }, (_, index) => event(index + 1));
    const joined = joinTimeline(memorySlice().timeline, { at: 1, devices, samples: [], events }, 7);
    expect(joined.events).toHaveLength(4096);
    expect(joined.events.at(-1)!.id).toBe(5000);
  });

  it('is read when the screen opens and after changes, at most twice a second, until it closes', async () => {
    const { studio, host, timers } = await testStudio();
    let id = 0;
    host.answers['runtime.timeline'] = () => {
      id += 1;
      return { at: id, devices, events: [event(id)], samples: [sample(id)] };
    };
    const asked = () =>
      host.asked.filter(({ name }) => name === 'runtime.timeline').map(({ request }) => request);
    const stop = followTimeline(studio);
    await settle();
    for (let change = 0; change < 20; change++) host.emit('runtime.changed', fakeSnapshot());
    await settle();
    expect(asked()).toEqual([{ after: 0, since: 0 }]);
    await timers.advance(500);
    expect(asked().at(-1)).toEqual({ after: 1, since: 1 });
    expect(asked()).toHaveLength(2);
    // Nothing changed: nothing is asked.
    await timers.advance(5000);
    expect(asked()).toHaveLength(2);
    host.emit('runtime.changed', fakeSnapshot());
    await settle();
    expect(asked()).toHaveLength(3);
    expect(studio.store.getState().timeline.events.map((one) => one.id)).toEqual([1, 2, 3]);
    stop();
    host.emit('runtime.changed', fakeSnapshot());
    await timers.advance(5000);
    expect(asked()).toHaveLength(3);
    expect(timers.pending).toBe(0);
  });

  it('survives a host that does not answer', async () => {
    const { studio, host, timers } = await testStudio();
    host.answers['runtime.timeline'] = () => {
      throw new StudioError('host_unreachable', 'Gone.');
    };
    const stop = followTimeline(studio);
    await settle();
    host.answers['runtime.timeline'] = () => ({ at: 1, devices, events: [event(1)], samples: [] });
    host.emit('runtime.changed', fakeSnapshot());
    await timers.advance(500);
    expect(studio.store.getState().timeline.events).toHaveLength(1);
    stop();
  });

  it('saves the trace through the shell, and says where', async () => {
    const { studio, host } = await testStudio();
    await exportTrace(studio);
    expect(host.savedTraces[0]).toMatch(/^mizuoto-memory \d{4}-\d\d-\d\d \d{6}\.json$/);
    expect(studio.store.getState().notices.at(-1)!.notice).toMatchObject({ kind: 'saved' });
    host.savedAs = null;
    await exportTrace(studio);
    expect(studio.store.getState().notices).toHaveLength(1);
  });
});

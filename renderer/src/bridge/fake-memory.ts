import type { RuntimeSnapshot } from '../../../main/contract/runtime.ts';
import { say } from '../../../main/contract/said.ts';
import type { HeldSample, Timeline, TimelineEvent } from '../../../main/contract/timeline.ts';
import type { WhatIfCurve, WhatIfModel, WhatIfResponse } from '../../../main/contract/what-if.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

interface Asked {
  device: string;
  limit_mb?: number | null | undefined;
  mode?: string | undefined;
}

/** A planner for pictures: the fixed parts stay, the rest streams as far as the limit wants it. */
export function fakeWhatIf({ device, limit_mb, mode }: Asked, snapshot: RuntimeSnapshot): WhatIfResponse {
  const total = snapshot.devices.find(({ id }) => id === device)?.total_bytes ?? 0;
  const models = snapshot.models.filter((model) => model.device === device && model.components.length > 0);
  const limit = limit_mb === null || limit_mb === undefined ? total : limit_mb * MiB;
  return {
    device,
    total_bytes: total,
    models: models.map((model) => fakeModel(model, mode === 'none' ? 0 : limit, device)),
    unknown: snapshot.models
      .filter((model) => model.device === device && !models.includes(model))
      .map(({ id }) => id),
  };
}

function fakeModel(model: RuntimeSnapshot['models'][number], limit: number, device: string): WhatIfModel {
  const working = model.size_bytes * 0.3;
  let room = Math.max(0, limit - working);
  const smallest = model.components.reduce((bytes, { fixed_bytes }) => bytes + fixed_bytes, working);
  const components = [...model.components]
    .sort((a, b) => a.size_bytes - b.size_bytes)
    .map((component) => {
      const { name, size_bytes: size, fixed_bytes: fixed, units } = component;
      const share = Math.min(1, Math.max(0, (room - fixed) / (size - fixed)));
      const resident = Math.round(share * units);
      const bytes = resident === units ? size : Math.round(fixed + ((size - fixed) * resident) / units);
      room = Math.max(0, room - bytes);
      const streamed = size - bytes;
      const partial = resident < units ? ('budget' as const) : null;
      return {
        id: `${model.id}:${name}`,
        size_bytes: size,
        resident_bytes: bytes,
        streamed_bytes: streamed,
        units,
        units_resident: resident,
        partial,
      };
    });
  const mb = (bytes: number): number => Math.round(bytes / MiB);
  const sum = (pick: (component: (typeof components)[number]) => number): number =>
    components.reduce((bytes, component) => bytes + pick(component), 0);
  const streamed = sum(({ streamed_bytes }) => streamed_bytes);
  const free = mb(limit);
  const over = Math.max(0, Math.round(smallest - limit));
  return {
    model: model.id,
    resident_bytes: sum(({ resident_bytes }) => resident_bytes),
    streamed_bytes: streamed,
    peak_bytes: Math.round(sum(({ resident_bytes }) => resident_bytes) + working),
    over_budget_bytes: over,
    seconds: 3.2 + (6 * streamed) / GiB,
    resident_seconds: 3.2,
    components,
    gives_up:
      limit < 6 * GiB && model.id.startsWith('qwen') ? [{ id: 'cosyvoice:flow', bytes: 0.9 * GiB }] : [],
    reasons: components.map(({ id, size_bytes, resident_bytes, streamed_bytes, partial }) =>
      partial === null
        ? say('whole_fits', { component: id, device, size: mb(size_bytes), working: mb(working), free })
        : say('partial_budget', {
            component: id,
            device,
            loaded: mb(resident_bytes),
            size: mb(size_bytes),
            streamed: mb(streamed_bytes),
            free,
            working: mb(working),
            slots: 120,
            reserve: 512,
          }),
    ),
    last_prediction: { predicted_seconds: 3.1, measured_seconds: 3.42 },
  };
}

export function fakeCurve({ device, mode }: Asked, snapshot: RuntimeSnapshot): WhatIfCurve {
  const total = snapshot.devices.find(({ id }) => id === device)?.total_bytes ?? 0;
  const { models } = fakeWhatIf({ device, mode }, snapshot);
  return {
    device,
    total_bytes: total,
    curves: models.map(({ model }) => {
      const points = Array.from({ length: 48 }, (_, step) => {
        const limit_bytes = Math.round((total * (step + 1)) / 48);
        const at = fakeWhatIf({ device, mode, limit_mb: limit_bytes / MiB }, snapshot);
        const answer = at.models.find((one) => one.model === model)!;
        return { limit_bytes, ...answer, fits: answer.over_budget_bytes === 0 };
      });
      return {
        model,
        smallest_bytes: points.find(({ fits }) => fits)?.limit_bytes ?? null,
        whole_bytes: points.find(({ streamed_bytes }) => streamed_bytes === 0)?.limit_bytes ?? null,
        points: points.map(({ limit_bytes, resident_bytes, streamed_bytes, seconds, fits }) => ({
          limit_bytes,
          resident_bytes,
          streamed_bytes,
          seconds,
          fits,
        })),
      };
    }),
  };
}

export const emptyTimeline = (now: number): Timeline => ({ at: now, events: [], samples: [], devices: [] });

/** Four minutes of a card that fills up, runs out, and gives to another program. */
export function fakeTimeline(now: number): Timeline {
  const device = 'CUDA0';
  const samples: HeldSample[] = [];
  const events: TimelineEvent[] = [];
  const hold = (
    ago: number,
    talker: number,
    codec: number,
    rest: [number, number, number],
    flow = 0,
  ): void => {
    const components: [string, number][] = [];
    if (flow > 0) components.push(['cosyvoice:flow', flow * GiB]);
    if (codec > 0) components.push(['qwen3-tts:1.7b:codec', codec * GiB]);
    if (talker > 0) components.push(['qwen3-tts:1.7b:talker', talker * GiB]);
    const weights = (talker + codec + flow) * GiB;
    const [slots, working, state] = rest.map((gib) => gib * GiB) as [number, number, number];
    samples.push({
      at: now - ago * 1000,
      device,
      weights,
      slots,
      working,
      state,
      others: 2 * GiB,
      components,
    });
  };
  const tell = (ago: number, kind: TimelineEvent['kind'], patch: Partial<TimelineEvent>): void => {
    const base = { device, subject: 'talker', bytes: 0, units: 0, milliseconds: null, said: null };
    events.push({ id: events.length + 1, at: now - ago * 1000, kind, ...base, ...patch });
  };
  hold(240, 0, 0, [0, 0, 0]);
  tell(238, 'load', { subject: 'cosyvoice', bytes: 2.2 * GiB });
  hold(236, 0, 0, [0, 0.4, 0], 2.2);
  tell(200, 'load', { subject: 'qwen3-tts:1.7b', bytes: 4.6 * GiB });
  const gives = { component: 'cosyvoice:flow', bytes: 922, units: 9, name: 'talker', short: 890 };
  tell(199, 'give_up', { subject: 'cosyvoice:flow', bytes: -0.9 * GiB, said: say('gives_up', gives) });
  hold(199, 0, 0, [0, 0.4, 0], 1.3);
  tell(198, 'place', { subject: 'qwen3-tts:1.7b:talker', bytes: 3.4 * GiB, units: 28, milliseconds: 290 });
  hold(198, 3.4, 0, [0, 0.8, 0.1], 1.3);
  hold(180, 3.4, 0, [0, 1.1, 0.4], 1.3);
  hold(150, 3.4, 1.2, [0, 1.1, 0.6], 1.3);
  const retry = { name: 'talker', device, attempt: 2, attempts: 3, cap: 1741 };
  tell(120, 'retry', { said: say('retry', retry) });
  hold(120, 1.7, 1.2, [0.4, 1.1, 0.6]);
  tell(90, 'calibration', {
    bytes: 1.1 * GiB,
    said: say('calibrated', { name: 'talker', bytes: 1126, estimate: 980 }),
  });
  hold(70, 1.7, 1.2, [0.4, 1.3, 0.7]);
  const desktop = { component: 'qwen3-tts:1.7b:codec', bytes: 410, short: 400, device };
  tell(40, 'desktop', {
    subject: 'qwen3-tts:1.7b:codec',
    bytes: -410 * MiB,
    said: say('gives_up_desktop', desktop),
  });
  hold(40, 1.7, 0.8, [0.4, 1.1, 0.2]);
  return { at: now, events, samples, devices: [{ id: device, total_bytes: 12 * GiB }] };
}

import fc from 'fast-check';
import type { PlannerComponent, PlannerState, Slots } from '../planner/types.ts';
import { component, state } from './states.ts';

const mark = fc.constantFrom(null, null, null, 'hot' as const, 'cold' as const, 'fixed' as const);

/** Units of one size, or of any sizes; measured or not. */
const unitSizes = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 300 }))
    .map(([count, size]) => Array<number>(count).fill(size)),
  fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 24 }),
);

export interface StateOptions {
  modes?: PlannerState['policy']['mode'][];
  residency?: ('rule' | 'cost')[];
  marks?: boolean;
  caps?: boolean;
  maxComponents?: number;
}

function componentArbitrary(index: number, options: StateOptions): fc.Arbitrary<PlannerComponent> {
  return fc
    .record({
      sizes: unitSizes,
      times: fc.constantFrom('none', 'fast', 'slow', 'mixed'),
      fixed: fc.integer({ min: 0, max: 400 }),
      kind: fc.constantFrom('sequence' as const, 'oneshot' as const),
      share: fc.constantFrom(0, 0.3, 0.7, 1),
      present: fc.boolean(),
      lastUsed: fc.integer({ min: 0, max: 5 }),
      pinned: fc.boolean(),
      inUse: fc.boolean(),
      marks: fc.array(mark, { minLength: 30, maxLength: 30 }),
      cap: fc.option(fc.integer({ min: 0, max: 3000 }), { freq: 4 }),
    })
    .map((draw) => {
      const ms = (size: number, unit: number): number =>
        draw.times === 'fast' ? size / 100 : draw.times === 'slow' ? size / 2 : (unit % 3) * 20 + 0.5;
      const placed = draw.sizes.map((_, unit) => unit).slice(0, Math.round(draw.share * draw.sizes.length));
      return component({
        id: `m${index % 5}:c${index}`,
        kind: draw.kind,
        units: draw.sizes.map((size, unit) =>
          draw.times === 'none' ? size : ([size, ms(size, unit)] as const),
        ),
        fixed: draw.fixed,
        ...(draw.present ? { placed } : {}),
        lastUsed: draw.lastUsed,
        pinned: draw.pinned,
        inUse: draw.inUse && draw.present,
        marks: options.marks === false ? [] : draw.marks,
        cap: options.caps === false ? null : draw.cap,
      });
    });
}

export interface Situation {
  before: PlannerState;
  components: string[];
  workingMiB: number;
  passes: number;
  /** Of the stage after it; null where none is known. */
  slotsToCome: Slots | null;
}

/** A device with some components on it, and a request for one to three of those that nobody uses. */
export function situation(options: StateOptions = {}): fc.Arbitrary<Situation> {
  return fc
    .integer({ min: 1, max: options.maxComponents ?? 7 })
    .chain((count) =>
      fc.record({
        components: fc.tuple(
          ...Array.from({ length: count }, (_, index) => componentArbitrary(index, options)),
        ),
        spare: fc.integer({ min: -200, max: 6000 }),
        foreign: fc.integer({ min: 0, max: 2000 }),
        reserve: fc.constantFrom(0, 100, 512),
        scratch: fc.constantFrom(0, 0, 300),
        idleSlots: fc.constantFrom(0, 0, 200),
        rate: fc.constantFrom(null, 1000, 12_000),
        mode: fc.constantFrom(...(options.modes ?? (['normal', 'normal', 'low', 'none'] as const))),
        residency: fc.constantFrom(...(options.residency ?? (['rule', 'cost'] as const))),
        asyncOffload: fc.integer({ min: 0, max: 3 }),
        limit: fc.option(fc.integer({ min: 500, max: 12_000 }), { freq: 5 }),
        wanted: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
        workingMiB: fc.integer({ min: 0, max: 2000 }),
        passes: fc.integer({ min: 1, max: 200 }),
        slotsToCome: fc.option(
          fc.record({
            count: fc.integer({ min: 1, max: 4 }),
            bytes: fc.integer({ min: 1, max: 500 }).map((size) => size * 2 ** 20),
            prefetch: fc.boolean(),
          }),
        ),
      }),
    )
    .map((draw) => {
      const requestable = draw.components.map((one) => one.id);
      const ids = [...new Set(draw.wanted.map((pick) => requestable[pick % requestable.length]!))];
      const components = draw.components.map((one) =>
        ids.includes(one.id) ? { ...one, inUse: false } : one,
      );
      const loaded = components.reduce((bytes, one) => bytes + one.loadedBytes, 0) / 2 ** 20;
      const before = state({
        total: Math.ceil(loaded) + draw.foreign + draw.scratch + draw.idleSlots + Math.max(0, draw.spare),
        foreign: draw.foreign,
        reserve: draw.reserve,
        components,
        scratch: draw.scratch,
        idleSlots: draw.idleSlots,
        rate: draw.rate,
        policy: {
          mode: draw.mode,
          residency: draw.residency,
          asyncOffload: draw.asyncOffload,
          limitBytes: draw.limit === null ? null : draw.limit * 2 ** 20,
        },
      });
      if (draw.idleSlots > 0) {
        before.device.idleSlots = { count: 2, bytes: (draw.idleSlots / 2) * 2 ** 20, prefetch: true };
      }
      const { workingMiB, passes, slotsToCome } = draw;
      return { before, components: ids, workingMiB, passes, slotsToCome };
    });
}

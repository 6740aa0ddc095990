import { describe, expect, it } from 'vitest';
import { withRig } from './testing/rig.ts';

/** Bytes of working memory that a text of this length takes. */
const working = (length: number): number => 64 * 1024 + 4 * length * length;

describe('a request that cannot fit', () => {
  it('is told of its stages before anything moves, with the longest length that does; and is tried all the same', async () => {
    const change = {
      'compute.device': 'auto',
      'compute.simulate_vram_mb': 4,
      'compute.vram_reserve_mb': 0,
    } as const;
    await withRig(change, async (rig) => {
      await rig.speak({ rows: 6 });
      const [decoder] = rig.runtime.handlesOf('two-stage').filter(({ component }) => component === 'decoder');
      const { book, settings } = rig;
      const ctx = rig.runtime.startRequest({
        id: 'long',
        book,
        settings,
        signal: new AbortController().signal,
      });
      const [held, events] = [book.device.memory().held, rig.runtime.events().length];
      const length = 3000;
      const stage = {
        name: 'decoder',
        handles: [decoder!],
        memory: working(length),
        length,
        memoryAt: working,
      };
      const { problems, peakBytes } = ctx.announce([stage]);
      expect(peakBytes).toBeGreaterThan(36_000_000);
      expect(problems).toHaveLength(1);
      const { largestLength, parts, partLength, possibleBytes } = problems[0]!;
      expect(working(largestLength!)).toBeLessThanOrEqual(possibleBytes);
      expect(working(largestLength! + 1)).toBeGreaterThan(possibleBytes);
      expect(parts! * partLength!).toBeGreaterThanOrEqual(length);
      expect(partLength).toBeLessThanOrEqual(largestLength!);
      // Said, and nothing else: neither an allocation nor anything that gave way.
      expect(book.device.memory().held).toEqual(held);
      expect(
        rig.runtime
          .events()
          .slice(events)
          .map(({ kind }) => kind),
      ).toEqual(['plan']);
      // Who insists is not refused: only an allocation that fails is an error.
      const sum = await ctx.run('decoder', [decoder!], () => 42, working(length));
      expect(sum).toBe(42);
      expect(ctx.warnings.map(({ code }) => code)).toContain('over_budget');
    });
  });
});

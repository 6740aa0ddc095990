import { describe, expect, it } from 'vitest';
import { neededAtLeast, type RefusedStage } from './out-of-memory.ts';

/** 100 were reserved; 150 could be had; it had 90. */
const stage: RefusedStage = {
  reserved: 100,
  room: 150,
  peak: 90,
  foreignGrowth: 0,
  disturbed: false,
  retried: false,
};

function refusal(details: Record<string, number>): Error {
  return Object.assign(new Error('refused'), { code: 'OutOfDeviceMemory', details });
}

describe('working memory of a stage that a device refused memory', () => {
  const short = refusal({ needed: 70, available: 60, total: 500 });

  it('is all that it could have, and what was missing', () => {
    expect(neededAtLeast(short, stage)).toBe(160);
    expect(neededAtLeast(short, { ...stage, retried: true })).toBe(160);
  });

  it('is what was reserved, and what was missing, where another stage took part of the room', () => {
    expect(neededAtLeast(short, { ...stage, disturbed: true })).toBe(110);
  });

  it('is unknown where other programs took what is missing', () => {
    expect(neededAtLeast(short, { ...stage, foreignGrowth: 60 })).toBeNull();
    expect(neededAtLeast(short, { ...stage, foreignGrowth: 20 })).toBe(140);
    expect(neededAtLeast(short, { ...stage, foreignGrowth: 20, disturbed: true })).toBeNull();
  });

  it('is more than it was given where a device refuses what it reports as free, unless it is measured at once', () => {
    const refusedAll = refusal({ needed: 30, available: 60, total: 500 });
    expect(neededAtLeast(refusedAll, stage)).toBe(130);
    expect(neededAtLeast(refusedAll, { ...stage, peak: 120 })).toBe(150);
    expect(neededAtLeast(refusal({}), stage)).toBe(150);
    expect(neededAtLeast(new Error('no numbers'), stage)).toBe(150);
    expect(neededAtLeast(refusedAll, { ...stage, retried: true })).toBeNull();
  });

  it('is no matter of room where a device makes no buffer so large', () => {
    expect(neededAtLeast(refusal({ needed: 70, available: 60 }), stage)).toBeNull();
  });
});

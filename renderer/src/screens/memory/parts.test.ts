import { describe, expect, it } from 'vitest';
import { fakeCpu, fakeGpu, fakeSnapshot, partialSnapshot } from '../../bridge/fake-data.ts';
import { deviceParts, heldBytes, ramParts } from './parts.ts';

const sum = (parts: { bytes: number }[]): number => parts.reduce((total, { bytes }) => total + bytes, 0);

describe('the bar of a device', () => {
  it('adds up to the whole and keeps its order', () => {
    const parts = deviceParts(fakeGpu);
    expect(sum(parts)).toBeCloseTo(fakeGpu.total_bytes, -3);
    expect(parts.map(({ part }) => part)).toEqual([
      'weights',
      'slots',
      'compute',
      'state',
      'io',
      'others',
      'reserve',
      'free',
    ]);
    expect(heldBytes(fakeGpu)).toBe(sum(parts.slice(0, 5)));
  });

  it('leaves out what is empty, and never reserves more than is free', () => {
    expect(deviceParts(fakeCpu).map(({ part }) => part)).toEqual(['others', 'free']);
    const tight = { ...fakeGpu, free_bytes: 100, reserve_bytes: 5000 };
    expect(deviceParts(tight).filter(({ part }) => part === 'reserve' || part === 'free')).toEqual([
      { part: 'reserve', bytes: 100 },
    ]);
  });
});

describe('the bar of main memory', () => {
  it('adds up to the whole', () => {
    for (const { host } of [fakeSnapshot(), partialSnapshot()]) {
      expect(sum(ramParts(host))).toBeCloseTo(host.total_bytes, -3);
    }
  });

  it('survives figures that do not fit each other', () => {
    const host = { ...fakeSnapshot().host, process_bytes: 1, pinned_bytes: 100, available_bytes: 0 };
    expect(ramParts(host).every(({ bytes }) => bytes > 0)).toBe(true);
  });
});

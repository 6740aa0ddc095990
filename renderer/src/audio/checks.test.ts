import { describe, expect, it } from 'vitest';
import { AudioChecks } from './checks.ts';

const rate = 8000;
const tone = (seconds: number, loud = 0.3): Float32Array =>
  Float32Array.from({ length: seconds * rate }, (_, i) => loud * Math.sin(i / 3));
const silence = (seconds: number): Float32Array => new Float32Array(seconds * rate);

function listen(...parts: Float32Array[]): AudioChecks {
  const checks = new AudioChecks(rate);
  // Pieces of odd length: windows must not care where chunks end.
  for (const part of parts) {
    for (let at = 0; at < part.length; at += 777) checks.append(part.subarray(at, at + 777));
  }
  return checks;
}

describe('checks', () => {
  it('finds nothing in speech with ordinary pauses', () => {
    expect(listen(tone(1), silence(1), tone(2), silence(2), tone(1)).findings(7)).toEqual([]);
  });

  it('tells where a long silence lies', () => {
    const [finding, ...rest] = listen(tone(2), silence(4), tone(1), silence(3), tone(1)).findings();
    expect(rest).toEqual([]);
    expect(finding).toMatchObject({ kind: 'silence' });
    if (finding?.kind !== 'silence') return;
    expect(finding.at).toBeCloseTo(2, 1);
    expect(finding.seconds).toBeCloseTo(4, 1);
  });

  it('calls a wholly silent result that, and only that', () => {
    expect(listen(silence(5)).findings()).toEqual([{ kind: 'all_silent' }]);
    expect(new AudioChecks(rate).findings()).toEqual([]);
  });

  it('counts clipping, but not single peaks', () => {
    const peaks = tone(1);
    peaks[100] = 1;
    peaks[500] = -1;
    expect(listen(peaks).findings()).toEqual([]);
    const clipped = tone(1);
    clipped.fill(1, 4000, 4010);
    clipped.fill(-1, 6000, 6004);
    expect(listen(clipped).findings()).toEqual([{ kind: 'clipping', at: 0.5, count: 2 }]);
  });

  it('notices samples that are not numbers', () => {
    const broken = tone(1);
    broken[800] = Number.NaN;
    broken[900] = Number.POSITIVE_INFINITY;
    expect(listen(broken).findings()).toEqual([{ kind: 'not_finite', at: 0.1, count: 2 }]);
  });

  it('compares the length with what the text takes', () => {
    expect(listen(tone(1)).findings(10)).toEqual([{ kind: 'short', seconds: 1, expected: 10 }]);
    expect(listen(tone(10)).findings(2.5)).toEqual([{ kind: 'long', seconds: 10, expected: 2.5 }]);
    expect(listen(tone(5)).findings(10)).toEqual([]);
    expect(listen(tone(1)).findings()).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { Peaks } from './peaks.ts';

/** The outline computed at once from all samples, for comparison. */
function direct(samples: Float32Array, columns: number): { peak: number; rms: number }[] {
  const per = samples.length / columns;
  return Array.from({ length: columns }, (_, column) => {
    const part = samples.subarray(Math.floor(column * per), Math.ceil((column + 1) * per));
    const peak = part.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    const rms = Math.sqrt(part.reduce((sum, value) => sum + value * value, 0) / part.length);
    return { peak, rms };
  });
}

describe('peaks', () => {
  it('equals the outline of all samples where bins and columns meet', () => {
    const samples = Float32Array.from({ length: 4096 }, (_, i) => Math.sin(i / 9) * Math.sin(i / 700));
    const peaks = new Peaks(64, 64);
    for (let at = 0; at < samples.length; at += 100) peaks.append(samples.subarray(at, at + 100));
    const expected = direct(samples, 16);
    for (const [index, column] of peaks.columns(16).entries()) {
      expect(column.peak).toBeCloseTo(expected[index]!.peak, 5);
      expect(column.rms).toBeCloseTo(expected[index]!.rms, 5);
    }
  });

  it('never grows: bins merge, and the loudest sample stays in sight', () => {
    const peaks = new Peaks(64, 1);
    const block = new Float32Array(1000).fill(0.1);
    for (let i = 0; i < 500; i++) peaks.append(block);
    peaks.append(Float32Array.of(0.9));
    for (let i = 0; i < 499; i++) peaks.append(block);
    expect(peaks.frames).toBe(999_001);
    expect(peaks.samplesPerBin).toBe(2 ** Math.ceil(Math.log2(999_001 / 64)));
    const columns = peaks.columns(32);
    expect(columns).toHaveLength(32);
    expect(columns.filter((column) => column.peak > 0.89).length).toBeGreaterThanOrEqual(1);
    expect(columns.filter((column) => column.peak > 0.89).length).toBeLessThanOrEqual(2);
    expect(columns[3]!.rms).toBeCloseTo(0.1, 4);
  });

  it('leaves the right side free for what is still to come', () => {
    const peaks = new Peaks(256, 8);
    peaks.append(new Float32Array(1000).fill(0.5));
    expect(peaks.columns(100, 4000)).toHaveLength(25);
    expect(peaks.columns(100, 10)).toHaveLength(100);
    expect(new Peaks().columns(100, 0)).toEqual([]);
  });

  it('draws damaged samples as silence', () => {
    const peaks = new Peaks(8, 4);
    peaks.append(Float32Array.of(Number.NaN, 0.25, Number.NaN, 0.25));
    expect(peaks.columns(1)).toEqual([{ peak: 0.25, rms: Math.sqrt((2 * 0.0625) / 4) }]);
  });
});

import { expect, test } from 'vitest';
import { fadeIn, fadeOut, findSilences, fromDecibels, peak, rms, toDecibels, toMono } from './level.ts';

test('peak, RMS and decibels', () => {
  const square = Float32Array.from([0.5, -0.5, 0.5, -0.5]);
  expect(peak(square)).toBe(0.5);
  expect(rms(square)).toBe(0.5);
  expect(toDecibels(0.5)).toBeCloseTo(-6.0206, 4);
  expect(fromDecibels(toDecibels(0.3))).toBeCloseTo(0.3, 12);
  expect(peak(new Float32Array(0))).toBe(0);
  expect(rms(new Float32Array(0))).toBe(0);
  expect(toDecibels(0)).toBe(Number.NEGATIVE_INFINITY);
});

test('silences are found with their ends, short ones are not', () => {
  const rate = 1000;
  const samples = Float32Array.from({ length: 2000 }, (_, i) => Math.sin(i) * 0.5);
  samples.fill(0, 300, 800);
  samples.fill(0, 1000, 1100);
  samples.fill(0, 1700, 2000);
  expect(findSilences(samples, { sampleRate: rate })).toEqual([
    [300, 800],
    [1700, 2000],
  ]);
  expect(findSilences(samples, { sampleRate: rate, minSeconds: 0.05 })).toHaveLength(3);
  expect(findSilences(samples, { sampleRate: rate, thresholdDb: 0 })).toEqual([[0, 2000]]);
});

test('fades start and end near 0 and do not touch the rest', () => {
  const samples = new Float32Array(100).fill(1);
  fadeIn(samples, 10);
  fadeOut(samples, 10);
  expect(samples[0]).toBeLessThan(0.01);
  expect(samples[99]).toBe(samples[0]);
  expect(samples.subarray(10, 90).every((value) => value === 1)).toBe(true);
  expect([...samples.subarray(0, 10)]).toEqual([...samples.subarray(0, 10)].sort((a, b) => a - b));
  const short = new Float32Array(3).fill(1);
  fadeIn(short, 100);
  expect(short[2]).toBeLessThan(1);
});

test('mono is the mean of the channels', () => {
  expect([...toMono([Float32Array.of(1, 0), Float32Array.of(0, -1)])]).toEqual([0.5, -0.5]);
  expect(toMono([])).toHaveLength(0);
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Module } from '../../nn/module.ts';
import { MiniAcoustic } from './acoustic.ts';
import { readMiniConfig } from './config.ts';
import { voiceFolder } from './testing/golden.ts';
import { MiniVocoder } from './vocoder.ts';
import { receptiveFields, windowsOf } from './windows.ts';

const config = await readMiniConfig(voiceFolder);

/** Names and shapes in the header of a safetensors file. */
function header(file: string): Record<string, number[]> {
  const bytes = readFileSync(path.join(voiceFolder, file));
  const length = Number(bytes.readBigUInt64LE(0));
  const entries = Object.entries(JSON.parse(bytes.subarray(8, 8 + length).toString()) as object);
  return Object.fromEntries(
    entries.filter(([name]) => name !== '__metadata__').map(([name, { shape }]) => [name, shape]),
  );
}

test.each([
  ['acoustic', new MiniAcoustic(config), 2_581_907],
  ['vocoder', new MiniVocoder(config), 1_653_570],
] as [string, Module, number][])('%s: names and shapes are the checkpoint’s', (name, network, parameters) => {
  const own = [...network.namedParameters()].map(
    ({ name, parameter }) => [name, [...parameter.shape]] as const,
  );
  expect(Object.fromEntries(own)).toEqual(header(`${name}.safetensors`));
  const count = own.reduce((sum, [, shape]) => sum + shape.reduce((product, size) => product * size, 1), 0);
  expect(count).toBe(parameters);
});

test('every block is a unit of its own', () => {
  expect(new MiniAcoustic(config).memoryUnits()).toHaveLength(12);
  expect(new MiniVocoder(config).memoryUnits()).toHaveLength(7);
});

test('receptive fields', () => {
  expect(receptiveFields(config)).toEqual({ encoder: 36, decoder: 30, vocoder: 21 });
});

test('windows tile all rows, keep their size and their context', () => {
  for (const [total, longest, context] of [
    [1, 64, 8],
    [64, 64, 8],
    [65, 64, 8],
    [1000, 64, 8],
    [97, 33, 16],
  ] as const) {
    const windows = windowsOf(total, longest, context);
    expect(windows[0]!.start).toBe(0);
    expect(windows.at(-1)!.end).toBe(total);
    for (const [i, { start, end, from, to }] of windows.entries()) {
      if (i > 0) expect(start).toBe(windows[i - 1]!.end);
      expect(end).toBeGreaterThan(start);
      expect(to - from).toBeLessThanOrEqual(longest);
      expect(from).toBe(Math.max(0, windows.length === 1 ? 0 : start - context));
      expect(to).toBe(Math.min(total, windows.length === 1 ? total : end + context));
    }
  }
  expect(() => windowsOf(100, 16, 8)).toThrow(RangeError);
});

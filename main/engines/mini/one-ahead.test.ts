import { expect, test } from 'vitest';
import { oneAhead } from './one-ahead.ts';

async function* numbers(log: string[], failAt = Number.POSITIVE_INFINITY) {
  try {
    for (let i = 0; i < 4; i++) {
      log.push(`make ${i}`);
      await Promise.resolve();
      if (i === failAt) throw new Error(`no ${i}`);
      yield i;
    }
  } finally {
    log.push('closed');
  }
}

test('yields everything in order, the next value in work already', async () => {
  const log: string[] = [];
  for await (const value of oneAhead(numbers(log))) log.push(`take ${value}`);
  expect(log.filter((line) => line.startsWith('take'))).toEqual(['take 0', 'take 1', 'take 2', 'take 3']);
  expect(log.indexOf('make 1')).toBeLessThan(log.indexOf('take 0'));
  expect(log.indexOf('make 2')).toBeGreaterThan(log.indexOf('take 0'));
  expect(log).toContain('closed');
});

test('leaving early waits for the value in work and closes the source', async () => {
  const log: string[] = [];
  for await (const value of oneAhead(numbers(log))) if (value === 1) break;
  expect(log).toEqual(['make 0', 'make 1', 'make 2', 'closed']);
});

test('an error arrives behind the values before it, and is no stray rejection after leaving', async () => {
  const log: string[] = [];
  const taken: number[] = [];
  const all = async () => {
    for await (const value of oneAhead(numbers(log, 2))) taken.push(value);
  };
  await expect(all()).rejects.toThrow('no 2');
  expect(taken).toEqual([0, 1]);
  for await (const _ of oneAhead(numbers(log, 1))) break;
  await new Promise((resolve) => setImmediate(resolve));
  expect(log.at(-1)).toBe('closed');
});

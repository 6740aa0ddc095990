import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JobProgress } from '../contract/index.ts';
import { freeName } from './audio-output.ts';
import { Messages } from './messages.ts';
import { progressLine } from './progress.ts';
import { size } from './size.ts';
import { clock, displayWidth, harmless, table } from './terminal.ts';

const progress: JobProgress = {
  job_id: 'a',
  state: 'running',
  stage: 'vocoder',
  fraction: 0.5,
  chunks_done: 3,
  chunks_total: 6,
  elapsed_seconds: 10,
  remaining_seconds: 65,
};

it('progress is one line that fits', () => {
  const english = { messages: new Messages('en') };
  expect(progressLine(progress, english, 100)).toBe(
    '[############------------]  50%  speaking  Forming the sound  3/6 parts  1:05 left',
  );
  expect(progressLine(progress, english, 62)).toBe(
    '[############------------]  50%  speaking  Forming the sound',
  );
  for (let columns = 33; columns < 100; columns++) {
    const chinese = progressLine(progress, { messages: new Messages('zh-CN') }, columns);
    expect(displayWidth(chinese)).toBeLessThan(columns);
  }
  const waiting = {
    ...progress,
    state: 'waiting',
    stage: null,
    fraction: 0,
    chunks_total: 0,
    remaining_seconds: null,
  } as const;
  expect(progressLine(waiting, english, 100)).toBe('[------------------------]   0%  waiting');
});

it('columns line up by what they take on a terminal', () => {
  expect(displayWidth('声音 a')).toBe(6);
  expect(displayWidth('e\u0301')).toBe(1);
  expect(displayWidth('🙂')).toBe(2);
  expect(
    table(
      ['声音', 'B'],
      [
        ['a', 'x'],
        ['abcdef', 'y'],
      ],
    ),
  ).toBe('声音    B\na       x\nabcdef  y');
});

it('sizes and times are short', () => {
  expect([0, 1023, 1024, 1536, 150 * 1024, 3 * 1024 ** 3].map(size)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '150 KiB',
    '3.0 GiB',
  ]);
  expect([0.4, 4, 65, 3725].map(clock)).toEqual(['0:00', '0:04', '1:05', '1:02:05']);
});

it('control characters are shown, not sent', () => {
  expect(harmless('a\u001b]0;x\u0007\u009b\n\tb')).toBe('a\\x1b]0;x\\x07\\x9b\n\tb');
});

it('a default name never takes the place of a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-name-'));
  const now = new Date(2025, 0, 31, 7, 5, 9);
  expect(freeName(folder, now)).toBe('mizuoto-20250131-070509.wav');
  writeFileSync(join(folder, 'mizuoto-20250131-070509.wav'), '');
  expect(freeName(folder, now)).toBe('mizuoto-20250131-070509-2.wav');
  rmSync(folder, { recursive: true });
});

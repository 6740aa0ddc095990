import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readWindowState, writeWindowState } from './window-state.ts';

const screens = [{ x: 0, y: 0, width: 1920, height: 1080 }];
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-window-state-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('remembers a window and forgets a place that is off every screen', () => {
  writeWindowState(folder, { width: 1000, height: 700, x: 100, y: 50, maximized: true });
  expect(readWindowState(folder, screens)).toEqual({
    width: 1000,
    height: 700,
    x: 100,
    y: 50,
    maximized: true,
  });
  writeWindowState(folder, { width: 1000, height: 700, x: 5000, y: 50, maximized: false });
  expect(readWindowState(folder, screens)).toMatchObject({ width: 1000, x: undefined, y: undefined });
});

it.each(['', '{', '{"width":-1,"height":2}', '[]', 'null'])('starts afresh from %j', (content) => {
  writeFileSync(join(folder, 'window.json'), content);
  expect(readWindowState(folder, screens).width).toBe(1240);
});

it('says nothing when the folder cannot be written', () => {
  expect(() =>
    writeWindowState(join(folder, 'missing'), { width: 900, height: 600, maximized: false }),
  ).not.toThrow();
});

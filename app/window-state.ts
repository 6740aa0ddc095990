import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const stateSchema = z.object({
  width: z.number().int().min(720).max(20_000),
  height: z.number().int().min(480).max(20_000),
  x: z.number().int().optional(),
  y: z.number().int().optional(),
  maximized: z.boolean().default(false),
});
export type WindowState = z.output<typeof stateSchema>;

const initial: WindowState = { width: 1240, height: 820, maximized: false };

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The remembered window, moved back into sight when the screen it stood on is gone. */
export function readWindowState(folder: string, screens: Area[]): WindowState {
  let state: WindowState;
  try {
    state = stateSchema.parse(JSON.parse(readFileSync(join(folder, 'window.json'), 'utf8')));
  } catch {
    return initial;
  }
  const { x, y } = state;
  if (x === undefined || y === undefined) return state;
  // A strip of the title bar must stay reachable.
  const visible = screens.some(
    (s) => x + state.width > s.x + 80 && x < s.x + s.width - 80 && y >= s.y - 10 && y < s.y + s.height - 40,
  );
  return visible ? state : { ...state, x: undefined, y: undefined };
}

export function writeWindowState(folder: string, state: WindowState): void {
  const target = join(folder, 'window.json');
  try {
    writeFileSync(`${target}.${process.pid}`, JSON.stringify(state));
    renameSync(`${target}.${process.pid}`, target);
  } catch {
    // A forgotten window size is no reason to disturb anyone.
  }
}

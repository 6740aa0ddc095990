import { toErrorBody } from '../bridge/errors.ts';
import type { VramMode, WhatIfTrial } from './memory.ts';
import { notify } from './notices.ts';
import type { Studio } from './studio.ts';

/** What is in force: where every trial begins, and what it goes back to. */
function inForce(studio: Studio): Pick<WhatIfTrial, 'limitMb' | 'mode'> {
  const { settings } = studio.store.getState();
  return {
    limitMb: settings?.['compute.vram_limit_mb'] ?? null,
    mode: settings?.['compute.vram_mode'] ?? 'auto',
  };
}

function change(studio: Studio, device: string, patch: Partial<WhatIfTrial>): void {
  studio.store.setState(({ whatIf }) => {
    const trial = whatIf[device];
    return trial === undefined ? {} : { whatIf: { ...whatIf, [device]: { ...trial, ...patch } } };
  });
}

/** One question per device is under way; of those that come meanwhile only the last is asked. */
const busy = new WeakMap<Studio, Map<string, { next: (() => Promise<void>) | null }>>();

async function lastOf(studio: Studio, key: string, work: () => Promise<void>): Promise<void> {
  const running = busy.get(studio) ?? new Map<string, { next: (() => Promise<void>) | null }>();
  busy.set(studio, running);
  const current = running.get(key);
  if (current !== undefined) {
    current.next = work;
    return;
  }
  const mine: { next: (() => Promise<void>) | null } = { next: work };
  running.set(key, mine);
  while (mine.next !== null) {
    const next = mine.next;
    mine.next = null;
    await next();
  }
  running.delete(key);
}

function ask(studio: Studio, device: string): Promise<void> {
  return lastOf(studio, `answer ${device}`, async () => {
    const trial = studio.store.getState().whatIf[device];
    if (trial === undefined) return;
    try {
      const { mode, limitMb } = trial;
      const answer = await studio.bridge.call('runtime.what_if', { device, mode, limit_mb: limitMb });
      change(studio, device, { answer, error: null });
    } catch (thrown) {
      change(studio, device, { error: toErrorBody(thrown) });
    }
  });
}

function askCurve(studio: Studio, device: string): Promise<void> {
  return lastOf(studio, `curve ${device}`, async () => {
    const trial = studio.store.getState().whatIf[device];
    if (trial === undefined) return;
    try {
      change(studio, device, {
        curve: await studio.bridge.call('runtime.what_if_curve', { device, mode: trial.mode }),
      });
    } catch {
      // The answer beside it fails the same way, and says so.
    }
  });
}

/** Asks about a device as it is now: when it comes into sight, and when its models or the settings have changed. */
export async function refreshWhatIf(studio: Studio, device: string): Promise<void> {
  studio.store.setState(({ whatIf }) => {
    const known = whatIf[device];
    const fresh = { touched: false, answer: null, curve: null, error: null, applying: false };
    const trial = known ?? { ...fresh, ...inForce(studio) };
    return { whatIf: { ...whatIf, [device]: trial.touched ? trial : { ...trial, ...inForce(studio) } } };
  });
  await Promise.all([ask(studio, device), askCurve(studio, device)]);
}

/** The slider moved, or another mode was chosen: shown at once, answered as fast as the planner does. */
export async function tryPolicy(
  studio: Studio,
  device: string,
  patch: { limitMb?: number | null; mode?: VramMode },
): Promise<void> {
  change(studio, device, { ...patch, touched: true });
  await Promise.all([
    ask(studio, device),
    patch.mode === undefined ? Promise.resolve() : askCurve(studio, device),
  ]);
}

/** Back to what is in force. */
export async function forgetTrial(studio: Studio, device: string): Promise<void> {
  change(studio, device, { ...inForce(studio), touched: false });
  await Promise.all([ask(studio, device), askCurve(studio, device)]);
}

/** Writes the trial into the settings; it holds from the next stage on. */
export async function applyTrial(studio: Studio, device: string): Promise<void> {
  const trial = studio.store.getState().whatIf[device];
  if (trial === undefined || trial.applying) return;
  change(studio, device, { applying: true });
  try {
    const patch = { 'compute.vram_limit_mb': trial.limitMb, 'compute.vram_mode': trial.mode };
    const settings = await studio.bridge.call('settings.set', { patch });
    studio.store.setState({ settings });
    change(studio, device, { touched: false });
    notify(studio, { kind: 'limit', limitMb: trial.limitMb });
  } catch (thrown) {
    notify(studio, { kind: 'failed', error: toErrorBody(thrown) });
  } finally {
    change(studio, device, { applying: false });
  }
}

/** Whether the trial is anything but what is in force. */
export function isTrial(
  trial: WhatIfTrial,
  settings: { 'compute.vram_limit_mb': number | null; 'compute.vram_mode': VramMode } | null,
): boolean {
  return (
    settings !== null &&
    (trial.limitMb !== settings['compute.vram_limit_mb'] || trial.mode !== settings['compute.vram_mode'])
  );
}

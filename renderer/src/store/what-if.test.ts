import { describe, expect, it } from 'vitest';
import type { CallInput } from '../../../main/contract/calls.ts';
import { StudioError } from '../../../main/contract/errors.ts';
import { fakeSettings, partialSnapshot } from '../bridge/fake-data.ts';
import { fakeCurve, fakeWhatIf } from '../bridge/fake-memory.ts';
import { settle } from '../testing/fake-timers.ts';
import { testStudio } from '../testing/studio.ts';
import { changeSetting } from './commands.ts';
import { applyTrial, forgetTrial, isTrial, refreshWhatIf, tryPolicy } from './what-if.ts';

type Asked = CallInput<'runtime.what_if'>;

async function opened() {
  const test = await testStudio();
  const { host, studio } = test;
  const snapshot = partialSnapshot();
  host.answers['runtime.what_if'] = (request) => fakeWhatIf(request, snapshot);
  host.answers['runtime.what_if_curve'] = (request) => fakeCurve(request, snapshot);
  await refreshWhatIf(studio, 'CUDA0');
  const asked = (name: string) =>
    host.asked.filter((call) => call.name === name).map(({ request }) => request);
  return { ...test, trial: () => studio.store.getState().whatIf.CUDA0!, asked };
}

describe('a trial of another policy', () => {
  it('begins at what is in force, with the answer and the curve of the planner', async () => {
    const { trial, asked } = await opened();
    expect(trial()).toMatchObject({ limitMb: null, mode: 'auto', touched: false, error: null });
    expect(trial().answer!.models).toHaveLength(2);
    expect(trial().curve!.curves[0]!.points).toHaveLength(48);
    expect(asked('runtime.what_if')).toEqual([{ device: 'CUDA0', mode: 'auto', limit_mb: null }]);
  });

  it('shows the slider at once, asks one question at a time, and of many only the last', async () => {
    const { studio, host, trial, asked } = await opened();
    const open: ((answer: ReturnType<typeof fakeWhatIf>) => void)[] = [];
    host.answers['runtime.what_if'] = () => new Promise((resolve) => open.push(resolve));
    const moves = [6000, 5000, 4000, 3000].map((limitMb) => tryPolicy(studio, 'CUDA0', { limitMb }));
    expect(trial().limitMb).toBe(3000);
    expect(open).toHaveLength(1);
    open[0]!(fakeWhatIf({ device: 'CUDA0', limit_mb: 6000 }, partialSnapshot()));
    await settle();
    expect(open).toHaveLength(2);
    open[1]!(fakeWhatIf({ device: 'CUDA0', limit_mb: 3000 }, partialSnapshot()));
    await Promise.all(moves);
    expect((asked('runtime.what_if') as Asked[]).map(({ limit_mb }) => limit_mb)).toEqual([null, 6000, 3000]);
    // A limit changes no curve; a mode does.
    expect(asked('runtime.what_if_curve')).toHaveLength(1);
    host.answers['runtime.what_if'] = (request) => fakeWhatIf(request, partialSnapshot());
    await tryPolicy(studio, 'CUDA0', { mode: 'none' });
    expect(asked('runtime.what_if_curve').at(-1)).toEqual({ device: 'CUDA0', mode: 'none' });
  });

  it('follows the settings until it is touched', async () => {
    const { studio, host, trial } = await opened();
    studio.store.setState({ settings: fakeSettings({ 'compute.vram_limit_mb': 8000 }) });
    await refreshWhatIf(studio, 'CUDA0');
    expect(trial().limitMb).toBe(8000);
    await tryPolicy(studio, 'CUDA0', { limitMb: 5000 });
    host.emit('settings.changed', fakeSettings({ 'compute.vram_limit_mb': 9000 }));
    await refreshWhatIf(studio, 'CUDA0');
    expect(trial().limitMb).toBe(5000);
    expect(isTrial(trial(), studio.store.getState().settings)).toBe(true);
    await forgetTrial(studio, 'CUDA0');
    expect(trial().limitMb).toBe(9000);
    expect(isTrial(trial(), studio.store.getState().settings)).toBe(false);
  });

  it('is written into the settings, and says so', async () => {
    const { studio, host, trial, asked } = await opened();
    host.answers['settings.set'] = ({ patch }) => fakeSettings(patch);
    await tryPolicy(studio, 'CUDA0', { limitMb: 5000, mode: 'normal' });
    await applyTrial(studio, 'CUDA0');
    expect(asked('settings.set')).toEqual([
      { patch: { 'compute.vram_limit_mb': 5000, 'compute.vram_mode': 'normal' } },
    ]);
    expect(trial()).toMatchObject({ touched: false, applying: false });
    const { notices, settings } = studio.store.getState();
    expect(settings!['compute.vram_limit_mb']).toBe(5000);
    expect(notices.at(-1)!.notice).toEqual({ kind: 'limit', limitMb: 5000 });
    await changeSetting(studio, { 'ui.theme': 'dark' });
  });

  it('stays as it was when it is refused, with the reason', async () => {
    const { studio, host, trial } = await opened();
    host.answers['settings.set'] = () => {
      throw new StudioError('contradictory_settings', 'Above the simulated device.');
    };
    await tryPolicy(studio, 'CUDA0', { limitMb: 5000 });
    await applyTrial(studio, 'CUDA0');
    expect(trial()).toMatchObject({ limitMb: 5000, touched: true, applying: false });
    expect(studio.store.getState().notices.at(-1)!.notice).toMatchObject({
      kind: 'failed',
      error: { code: 'contradictory_settings' },
    });
  });

  it('keeps its last answer beside an error, and forgets the error with the next answer', async () => {
    const { studio, host, trial } = await opened();
    const answer = host.answers['runtime.what_if']!;
    host.answers['runtime.what_if'] = () => {
      throw new StudioError('device_not_found', 'Gone.');
    };
    await tryPolicy(studio, 'CUDA0', { limitMb: 4000 });
    expect(trial()).toMatchObject({ error: { code: 'device_not_found' } });
    expect(trial().answer).not.toBeNull();
    host.answers['runtime.what_if'] = answer;
    await tryPolicy(studio, 'CUDA0', { limitMb: 4100 });
    expect(trial().error).toBeNull();
  });
});

import { describe, expect, it } from 'vitest';
import type { DeviceSnapshot } from '../contract/runtime.ts';
import { defaultSettings, type Settings } from '../contract/settings.ts';
import { MiB, policyFromSettings } from '../memory/policy.ts';
import { policyInForce } from './policy-in-force.ts';
import { RuntimeRig } from './testing/rig.ts';

const ram = 32 * 1024 * MiB;

function inForce(change: Partial<Settings>, kind: DeviceSnapshot['kind'], totalMb: number) {
  const settings = { ...defaultSettings(), ...change };
  const device = { id: 'GPU0', kind, unified: kind === 'igpu', total_bytes: totalMb * MiB };
  const { values, notes } = policyInForce(settings, policyFromSettings(settings, ram, 'linux'), device);
  return {
    mode: values['compute.vram_mode'],
    reserve: values['compute.vram_reserve_mb'],
    notes: notes.map(({ message }) => message),
  };
}

describe('the policy in force', () => {
  it('is what is set where the device has room for it', () => {
    expect(inForce({ 'compute.vram_mode': 'low' }, 'gpu', 8192)).toEqual({
      mode: 'low',
      reserve: 512,
      notes: [],
    });
  });

  it('keeps at most a quarter free of a small device, or of what a limit leaves of a large one', () => {
    const mode = { 'compute.vram_mode': 'normal' } as const;
    expect(inForce(mode, 'gpu', 1024)).toMatchObject({
      reserve: 256,
      notes: [
        'compute.vram_reserve_mb is 512 MiB, but at most a quarter of the 1,024 MiB that may be used of GPU0 is kept free: 256 MiB.',
      ],
    });
    expect(inForce({ ...mode, 'compute.vram_limit_mb': 600 }, 'gpu', 8192)).toMatchObject({
      reserve: 150,
      notes: [expect.stringContaining('a quarter of the 600 MiB')],
    });
    expect(inForce({ ...mode, 'compute.vram_reserve_mb': 2 }, 'gpu', 6)).toMatchObject({ reserve: 1.5 });
  });

  it('says what auto and shared come to', () => {
    expect(inForce({}, 'gpu', 8192)).toMatchObject({
      mode: 'normal',
      notes: ['compute.vram_mode is auto, and GPU0 has memory of its own: normal is in force.'],
    });
    expect(inForce({}, 'igpu', 8192)).toMatchObject({
      mode: 'shared',
      notes: ['compute.vram_mode is auto, and GPU0 shares the memory of the processor: shared is in force.'],
    });
    expect(inForce({ 'compute.vram_mode': 'shared' }, 'gpu', 8192)).toMatchObject({
      mode: 'high',
      notes: [expect.stringMatching(/^compute\.vram_mode is shared, but GPU0 has memory of its own: high/)],
    });
  });

  it('on the processor keeps nothing free, and says so', () => {
    expect(inForce({ 'compute.vram_mode': 'low' }, 'cpu', 32_768)).toEqual({
      mode: 'low',
      reserve: 0,
      notes: [expect.stringMatching(/^GPU0 is the processor: .* nothing is kept free/)],
    });
  });
});

describe('a simulated device', () => {
  const small = {
    'compute.device': 'auto',
    'compute.simulate_vram_mb': 6,
    'compute.vram_mode': 'normal',
  } as const;

  it('stands in the snapshot before anything has opened it, with what is in force there', async () => {
    // Opening the rig opens the device: its settings come after.
    const rig = await RuntimeRig.open();
    await rig.runtime.configure({ ...rig.settings, ...small });
    const before = rig.runtime.view();
    expect(before.devices[0]).toMatchObject({
      id: 'Simulated0',
      simulated: true,
      used: true,
      total_bytes: 6 * MiB,
      free_bytes: 6 * MiB,
      reserve_bytes: 1.5 * MiB,
    });
    expect(before.policy).toMatchObject({ 'compute.vram_reserve_mb': 1.5, 'compute.vram_mode': 'normal' });
    await rig.runtime.deviceFor(rig.runtime.settings);
    const after = rig.runtime.view();
    expect(after.devices[0]).toEqual(before.devices[0]);
    expect(after.policy_notes).toEqual(before.policy_notes);
    await rig.close();
  });
});

import { describe, expect, it } from 'vitest';
import { defaultSettings, StudioError, settingKeys } from '../contract/index.ts';
import { chosen, describeSetting, effectiveSettings, parsePatch } from './resolve.ts';

function failure(body: () => unknown): StudioError {
  try {
    body();
  } catch (error) {
    if (error instanceof StudioError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('a patch of settings', () => {
  it('is typed key by key', () => {
    expect(parsePatch({ 'compute.vram_mode': 'low', 'compute.vram_limit_mb': null })).toEqual({
      'compute.vram_mode': 'low',
      'compute.vram_limit_mb': null,
    });
  });

  it('refuses a key that does not exist and names the nearest', () => {
    const error = failure(() => parsePatch({ 'compute.vram_mod': 'low' }));
    expect(error.code).toBe('unknown_setting');
    expect(error.message).toContain('Did you mean compute.vram_mode?');
    expect(error.params.nearest).toBe('compute.vram_mode');
    expect(failure(() => parsePatch({ toString: 1 })).code).toBe('unknown_setting');
    expect(failure(() => parsePatch(JSON.parse('{"__proto__": 1}'))).code).toBe('unknown_setting');
  });

  it('refuses a value and says what would do', () => {
    const cases: [string, unknown, string][] = [
      ['compute.vram_mode', 'medium', 'one of auto, high'],
      ['compute.async_offload', 9, 'a whole number from 0 to 8'],
      ['compute.async_offload', 1.5, 'a whole number from 0 to 8'],
      ['compute.vram_reserve_mb', -1, 'a whole number of at least 0'],
      ['compute.simulate_vram_mb', 0, 'a number above 0, or null'],
      ['compute.simulate_vram_mb', Number.NaN, 'a number above 0, or null'],
      ['compute.oom_retry', 'yes', 'true or false'],
      ['engines.mini.pinned_models', 'mini', 'a list, each text'],
      ['compute.threads', undefined, 'a whole number from 1 to 512, or null'],
    ];
    for (const [key, value, words] of cases) {
      const error = failure(() => parsePatch({ [key]: value }));
      expect(error.code).toBe('invalid_setting');
      expect(error.message).toContain(`it takes ${words}`);
    }
  });

  it('can describe every setting', () => {
    for (const key of settingKeys) {
      const { words, notation } = describeSetting(key);
      expect(words, key).toMatch(/^(one of |a |text|true or false)/);
      expect(notation, key).not.toMatch(/undefined|NaN|Infinity/);
    }
  });
});

describe('settings of one request', () => {
  it('stand above the stored ones', () => {
    const base = { ...defaultSettings(), 'compute.vram_mode': 'low' as const };
    const settings = effectiveSettings(base, { 'compute.simulate_vram_mb': 3.5 });
    expect(settings['compute.vram_mode']).toBe('low');
    expect(settings['compute.simulate_vram_mb']).toBe(3.5);
  });

  it('do not carry the window', () => {
    expect(failure(() => effectiveSettings(defaultSettings(), { 'ui.theme': 'dark' })).code).toBe(
      'invalid_setting',
    );
  });

  it('are refused where they contradict each other, with the numbers', () => {
    const refused = (patch: Record<string, unknown>) =>
      failure(() => effectiveSettings(defaultSettings(), patch));
    const limit = refused({ 'compute.vram_mode': 'high', 'compute.vram_limit_mb': 512 });
    expect(limit.code).toBe('contradictory_settings');
    expect(limit.message).toMatch(/vram_limit_mb \(512 MiB\).*vram_reserve_mb \(512 MiB\)/);
    expect(refused({ 'compute.device': 'Vulkan0', 'compute.simulate_vram_mb': 4 }).code).toBe(
      'contradictory_settings',
    );
    // An estimate never refuses a load: other modes try the smallest working set.
    const tight = effectiveSettings(defaultSettings(), { 'compute.vram_limit_mb': 100 });
    expect(tight['compute.vram_limit_mb']).toBe(100);
    expect(
      effectiveSettings(defaultSettings(), { 'compute.device': 'cpu', 'compute.simulate_vram_mb': 4 }),
    ).toBeTruthy();
  });
});

it('only what differs from the defaults is worth keeping', () => {
  expect(chosen({ ...defaultSettings(), 'ui.theme': 'dark', 'engines.mini.pinned_models': [] })).toEqual({
    'ui.theme': 'dark',
  });
});

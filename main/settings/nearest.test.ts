import { describe, expect, it } from 'vitest';
import { editDistance, nearest } from './nearest.ts';

describe('nearest name', () => {
  it('counts edits, a swap of neighbours as one', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('sya', 'say')).toBe(1);
    expect(editDistance('', 'abc')).toBe(3);
  });

  it('finds what was meant', () => {
    const commands = ['say', 'engines', 'voices', 'devices', 'runtime', 'settings'];
    expect(nearest('sya', commands)).toBe('say');
    expect(nearest('engine', commands)).toBe('engines');
    expect(nearest('setings', commands)).toBe('settings');
    expect(nearest('RUNTIME', commands)).toBe('runtime');
    expect(nearest('vram_mod', ['compute.vram_mode', 'compute.vram_limit_mb'])).toBe('compute.vram_mode');
  });

  it('does not guess when nothing is near', () => {
    expect(nearest('bake', ['say', 'engines'])).toBeNull();
    expect(nearest('x', ['say'])).toBeNull();
    expect(nearest('', ['say'])).toBeNull();
    expect(nearest('say'.repeat(100_000), ['say'])).toBeNull();
  });
});

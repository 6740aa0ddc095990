import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { engineInfoSchema } from '../contract/runtime.ts';
import { builtInVoiceFolder } from './mini/voice-folder.ts';
import { engines, findEngine } from './registry.ts';

test('every engine describes itself as the contract says, under its own id', () => {
  expect(engines.map(({ id }) => id)).toContain('mini');
  for (const engine of engines) {
    const info = engine.info();
    expect(engineInfoSchema.parse(info)).toEqual(info);
    expect(info.id).toBe(engine.id);
    expect(info.voices.length).toBeGreaterThan(0);
    const defaults = info.parameters.find(({ key }) => key === 'voice');
    expect(info.voices.map(({ id }) => id)).toContain(defaults?.default);
  }
});

test('the built-in voice is there, with the size that is shown and the notices it needs', () => {
  const folder = builtInVoiceFolder();
  const sizes = ['acoustic.safetensors', 'vocoder.safetensors'].map(
    (file) => statSync(path.join(folder, file)).size,
  );
  expect(findEngine('mini').info().size_bytes).toBe(sizes[0]! + sizes[1]!);
  expect(existsSync(path.join(folder, 'NOTICE'))).toBe(true);
});

test('an engine that does not exist is refused by name', () => {
  expect(() => findEngine('maxi')).toThrow(expect.objectContaining({ code: 'unknown_engine' }));
  expect(() => findEngine('x'.repeat(500))).toThrow(/There is: mini/);
});

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { engineInfoSchema } from '../contract/runtime.ts';
import { engineInfo } from './describe.ts';
import { builtInVoiceFolder } from './mini/voice-folder.ts';
import { engines, findEngine } from './registry.ts';

test('every engine describes itself as the contract says, under its own id', () => {
  expect(engines.map(({ id }) => id)).toContain('mini');
  for (const engine of engines) {
    const info = engineInfo(engine, engine.builtIn());
    expect(engineInfoSchema.parse(info)).toEqual(info);
    expect(info.id).toBe(engine.id);
    // A folder's weights are compared before it is added.
    expect(typeof engine.weights).toBe(typeof engine.recognise);
    const keys = info.parameters.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { id, engine: owner } of [...engine.builtIn(), ...engine.catalog]) {
      expect(owner).toBe(engine.id);
      expect(id.split(':', 1)[0]).toBe(engine.id);
    }
    const usual = info.parameters.find(({ key }) => key === 'voice')?.default;
    if (info.voices.length > 0) expect(info.voices.map(({ id }) => id)).toContain(usual);
    // What a person reads of it is there in both languages; a bare name of a licence needs no translation.
    const han = /\p{Script=Han}/u;
    if (/ [a-z]/.test(info.licence)) expect(info.licence_in?.['zh-CN']).toMatch(han);
    const speakers = [...engine.builtIn(), ...engine.catalog].flatMap(({ abilities }) => abilities.speakers);
    for (const { id: speaker, description, description_in } of [...info.voices, ...speakers]) {
      expect(description, speaker).toMatch(/[A-Za-z]/);
      expect(description_in?.['zh-CN'], speaker).toMatch(han);
    }
  }
});

test('the built-in voice is there, with the size that is shown and the notices it needs', () => {
  const folder = builtInVoiceFolder();
  const sizes = ['acoustic.safetensors', 'vocoder.safetensors'].map(
    (file) => statSync(path.join(folder, file)).size,
  );
  const info = engineInfo(findEngine('mini'), findEngine('mini').builtIn());
  expect(info).toMatchObject({ size_bytes: sizes[0]! + sizes[1]!, built_in: true });
  expect(info.models).toMatchObject([{ id: 'mini', size_bytes: info.size_bytes, modes: ['speakers'] }]);
  expect(existsSync(path.join(folder, 'NOTICE'))).toBe(true);
});

test('an engine that does not exist is refused by name', () => {
  expect(() => findEngine('maxi')).toThrow(expect.objectContaining({ code: 'unknown_engine' }));
  expect(() => findEngine('x'.repeat(500))).toThrow(/There is: mini/);
});

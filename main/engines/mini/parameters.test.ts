import { expect, test } from 'vitest';
import { readMiniConfig } from './config.ts';
import { checkParameters } from './parameters.ts';
import { voiceFolder } from './testing/golden.ts';

const config = await readMiniConfig(voiceFolder);

test('suggested values pass silently, others with a warning, absurd ones not at all', () => {
  expect(checkParameters({ speed: 1, pitch: 1 }, config)).toEqual([]);
  expect(checkParameters({ speed: 0.6, pitch: 1.35 }, config)).toEqual([]);
  expect(checkParameters({ speed: 2, pitch: 0.5 }, config)).toMatchObject([
    { code: 'parameter_untested', params: { parameter: 'speed', low: 0.6, high: 1.6, value: 2 } },
    { code: 'parameter_untested', params: { parameter: 'pitch', low: 0.75, high: 1.35, value: 0.5 } },
  ]);
  for (const value of [0, -1, 4.01, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => checkParameters({ speed: value, pitch: 1 }, config)).toThrow('choose one from 0.25 to 4');
    expect(() => checkParameters({ speed: 1, pitch: value }, config)).toThrow('choose one from 0.5 to 2');
  }
});

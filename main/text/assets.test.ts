import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { assetPath, damagedAsset, readAsset } from './assets.ts';

it('finds the packed assets and the licence of the dictionary', () => {
  for (const name of ['dictionary.gz', 'letters.gz', 'LICENSE.cmudict.txt'])
    expect(existsSync(assetPath(name))).toBe(true);
  expect(readAsset('dictionary.gz').length).toBeGreaterThan(2_000_000);
});

it('says what is missing or damaged and what to do', () => {
  expect(() => assetPath('nothing.gz')).toThrow(
    expect.objectContaining({
      code: 'checkpoint_missing',
      message: expect.stringMatching(/nothing\.gz.*Install Mizuoto again/),
    }),
  );
  expect(() => readAsset('LICENSE.cmudict.txt')).toThrow(
    expect.objectContaining({ code: 'checkpoint_invalid' }),
  );
  expect(damagedAsset('x.gz', 'why').detail).toBe('why');
});

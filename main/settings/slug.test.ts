import fc from 'fast-check';
import { expect, it } from 'vitest';
import { slugOf } from './slug.ts';

it.each([
  ['My Voice', 'my-voice'],
  ['  Anna  (warm) ', 'anna-warm'],
  ['小明的声音', '小明的声音'],
  ['Ünïcode É', 'ünïcode-é'],
  ['０.６Ｂ', '0.6b'],
  ['CON', 'x-con'],
  ['nul.txt', 'x-nul.txt'],
  ['Con!', 'x-con'],
  [`con.${'a'.repeat(60)}`, `x-con.${'a'.repeat(42)}`],
  ['console', 'console'],
  ['\0\u20d0\u0840', '\u0840'],
  ['COM¹', 'x-com1'],
  ['lpt9', 'x-lpt9'],
  ['../../etc/passwd', 'etc-passwd'],
  ['..', 'x'],
  ['', 'x'],
  ['🙂🙂', 'x'],
  ['\u0301', 'x'],
  ['a\0b', 'a-b'],
  ['trailing.', 'trailing'],
  ['a'.repeat(300), 'a'.repeat(48)],
])('%j becomes %j', (name, slug) => {
  expect(slugOf(name, 'x')).toBe(slug);
});

it('is a folder name on every system, whatever the name, and stays what it is', () => {
  // Also what is near the names that Windows keeps.
  const near = fc.constantFrom('con', 'NUL', 'COM1', '.', '-', ' ', '!', '\u0301', 'a', '名');
  const names = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(near, { maxLength: 60 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(names, (name) => {
      const slug = slugOf(name, 'x');
      expect(slug).toMatch(/^[\p{L}\p{N}]/u);
      expect(slug).not.toMatch(/[<>:"/\\|?*\s\p{Cc}\p{Cs}]|[.-]$|\.\./u);
      expect(Buffer.byteLength(slug)).toBeLessThanOrEqual(255);
      expect(slug.split('.')[0]).not.toMatch(/^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/);
      expect(slugOf(slug, 'x')).toBe(slug);
    }),
    { numRuns: 3000 },
  );
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { inChinese } from './chinese.mjs';

/** Those that a person who sets up and starts the studio runs; the others are for its programmers. */
const scripts = ['setup', 'start', 'native', 'bundle', 'electron', 'lib/run'];

/** Every literal that is said or thrown; values in it are written as `x`. */
function sentences(script: string): string[] {
  const text = readFileSync(new URL(`../${script}.mjs`, import.meta.url), 'utf8');
  const calls = text.matchAll(/(?:\bsay\(|new BuildError\()\s*(`(?:[^`\\]|\\.)*`|'[^'\n]*'|"[^"\n]*")/g);
  return [...calls].map(([, literal]) => literal!.slice(1, -1).replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, 'x'));
}

it.each(scripts)('%s says in Chinese all that it says in English', (script) => {
  for (const sentence of sentences(script)) {
    // Put together from a name and a hint: tested below.
    if (sentence.startsWith('x is not installed. ')) continue;
    const chinese = inChinese(sentence);
    expect(chinese, sentence).toMatch(/\p{Script=Han}/u);
    expect(chinese).not.toMatch(/\p{Script=Han}[,;:?!()]|[,;?!()]\p{Script=Han}/u);
    expect(chinese!.includes('x')).toBe(sentence.includes('x'));
  }
});

it('finds what it looks for', () => {
  expect(sentences('setup')).toContain('installing packages (npm ci)...');
  expect(sentences('native').length).toBeGreaterThan(3);
});

it('knows hints, and leaves what it does not know', () => {
  const native = readFileSync(new URL('../native.mjs', import.meta.url), 'utf8');
  const hints = [...native.matchAll(/hint: '([^']+)'/g)].map(([, hint]) => hint!);
  expect(hints.length).toBeGreaterThan(0);
  for (const hint of [...hints, 'Install cmake and try again.']) {
    expect(inChinese(`cmake is not installed. ${hint}`), hint).toMatch(/^没有安装 cmake。(?:请|它)/);
  }
  expect(inChinese('something else')).toBeNull();
});

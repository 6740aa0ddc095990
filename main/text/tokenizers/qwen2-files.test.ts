import { describe, expect, it } from 'vitest';
import { AddedTokens } from './added-tokens.ts';
import { ByteLevelBpe } from './byte-level-bpe.ts';
import { parseMerges, parseTokens } from './qwen2-files.ts';
import type { TokenTable } from './token-table.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

async function tokensOf(text: string): Promise<TokenTable> {
  const tokens = await parseTokens(bytes(text));
  if (typeof tokens === 'string') throw new Error(tokens);
  return tokens;
}

describe('vocab.json', () => {
  it.each([
    '{}',
    ' {\n"a" :0 ,\t"b": 1\r\n} ',
    '{"\\"": 0, "\\\\": 1, "\\u0120the": 2, "Ġthe": 2, "\\ud83d\\ude00": 3, "天": 4, "": 5}',
    '{"a": 0, "b": 1, "a": 2}',
    JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, id) => [`t${id}`, id]))),
  ])('reads %.60s as JSON.parse does', async (text) => {
    const expected = Object.entries(JSON.parse(text) as Record<string, number>);
    const tokens = await tokensOf(text);
    expect(tokens.size).toBe(expected.length);
    for (const [token, id] of expected) expect(tokens.idOf(token)).toBe(id);
    expect([...tokens.ids].sort((a, b) => a - b)).toEqual(expected.map(([, id]) => id).sort((a, b) => a - b));
    expect(tokens.idOf('absent')).toBeUndefined();
  });

  it.each([
    '',
    '{',
    '{"a"',
    '{"a": 1',
    '{"a": 1,}',
    '{"a": 1} x',
    '{,"a": 1}',
    '{"a" 1}',
    '{"a": 01}',
    '{"a\n": 1}',
    '{"\\x": 1}',
    '\ufeff{}',
  ])('%j is not JSON', async (text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(await parseTokens(bytes(text))).toBe('it is not JSON');
  });

  it.each([
    '[]',
    '3',
    'null',
    '{"a": "b"}',
    '{"a": 1.5}',
    '{"a": -1}',
    '{"a": {"b": 1}}',
    '{"a": 4294967296}',
  ])('%s holds something else', async (text) => {
    expect(await parseTokens(bytes(text))).toMatch(/something else/);
  });

  it('lets others run while it is read', async () => {
    const entries = Array.from({ length: 200_000 }, (_, id) => [`token number ${id}`, id]);
    const text = bytes(JSON.stringify(Object.fromEntries(entries)));
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    expect(((await parseTokens(text)) as TokenTable).size).toBe(200_000);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('merges.txt', () => {
  const vocabulary = '{"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aa": 6, "aab": 7}';

  async function encoded(merges: string, word: string): Promise<number[]> {
    const tokens = await tokensOf(vocabulary);
    const parsed = await parseMerges(bytes(merges), tokens);
    if (typeof parsed === 'string') throw new Error(parsed);
    const ids: number[] = [];
    new ByteLevelBpe(tokens, parsed).encode(word, ids);
    return ids;
  }

  it.each([
    ['b c\na b\na bc\n', 'abc', [5]],
    ['a b\nb c\na bc\n', 'abc', [3, 2]],
    ['#version: 0.2\r\na b\r\n\r\nab c', 'abcab', [5, 3]],
    ['a a\na b\n', 'aaab', [6, 3]],
    ['a a\na b\n', 'aaaab', [6, 6, 1]],
    ['a b\n', 'axb', [0, 1]],
    ['a b\n', '', []],
  ])('%j makes %s into %j', async (merges, word, ids) => {
    expect(await encoded(merges, word)).toEqual(ids);
  });

  it.each([
    ['', /no pairs/],
    ['#version: 0.2\n\n', /no pairs/],
    ['a b\nab\n', /"ab" is no pair/],
    ['a b c\n', /is no pair/],
    [' ab\n', /is no pair/],
    ['ab \n', /is no pair/],
    ['a c\n', /"a c" makes no token/],
    ['xb c\n', /makes no token/],
  ])('%j is refused', async (merges, why) => {
    expect(await parseMerges(bytes(merges), await tokensOf(vocabulary))).toMatch(why);
  });
});

describe('added tokens', () => {
  const token = (id: number, content: string, more = {}) => ({
    ...{ id, content, lstrip: false, rstrip: false, normalized: false },
    ...more,
  });

  it.each([
    ['x<a>y', ['x', 1, 'y']],
    ['<ab><a>', [2, 1]],
    ['x <l> y', ['x', 3, ' y']],
    ['x <r>  y', ['x ', 4, 'y']],
    ['e\u0301<a>', ['é', 1]],
    // Looked for before and after normalisation.
    ['<e\u0301><é>', [6, 5]],
    ['', []],
  ])('%j', (text, parts) => {
    const added = new AddedTokens([
      ...[token(1, '<a>'), token(2, '<ab>'), token(3, '<l>', { lstrip: true })],
      ...[token(4, '<r>', { rstrip: true }), token(5, '<é>', { normalized: true }), token(6, '<e\u0301>')],
    ]);
    expect([...added.split(text)]).toEqual(parts);
  });
});

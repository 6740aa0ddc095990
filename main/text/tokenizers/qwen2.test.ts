import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readQwen2Tokenizer } from './qwen2.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures');
const folder = path.join(fixtures, 'qwen2');
const cases: { text: string; ids: number[] }[] = JSON.parse(
  readFileSync(path.join(fixtures, 'qwen2-cases.json'), 'utf8'),
);

describe('Qwen2 tokenizer', () => {
  it(`equals transformers on ${cases.length} mixed strings`, async () => {
    const tokenizer = await readQwen2Tokenizer(folder);
    const wrong = cases.filter(
      ({ text, ids }) => JSON.stringify(tokenizer.encode(text)) !== JSON.stringify(ids),
    );
    expect(wrong).toEqual([]);
    const used = new Set(cases.flatMap(({ ids }) => ids));
    expect(used.size).toBeGreaterThan(500);
  });

  it('knows special tokens by name, and encodes long text in time that grows with its length', async () => {
    const tokenizer = await readQwen2Tokenizer(folder);
    expect(tokenizer.encode('<|im_start|>')).toEqual([tokenizer.id('<|im_start|>')]);
    expect(tokenizer.id('<|absent|>')).toBeUndefined();
    const start = performance.now();
    const word = '天气'.repeat(20_000);
    expect(tokenizer.encode(word).length).toBeGreaterThan(1000);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('takes a lone surrogate for the replacement character', async () => {
    const tokenizer = await readQwen2Tokenizer(folder);
    expect(tokenizer.encode('a\ud800b')).toEqual(tokenizer.encode('a\ufffdb'));
  });
});

describe('a damaged tokenizer', () => {
  const copies: string[] = [];
  afterEach(() => {
    for (const copy of copies.splice(0)) rmSync(copy, { recursive: true });
  });
  function copy(): string {
    const target = mkdtempSync(path.join(tmpdir(), 'tokenizer-'));
    copies.push(target);
    cpSync(folder, target, { recursive: true });
    return target;
  }

  it.each(['vocab.json', 'merges.txt', 'tokenizer_config.json'])(
    'names %s where it is missing',
    async (file) => {
      const target = copy();
      rmSync(path.join(target, file));
      await expect(readQwen2Tokenizer(target)).rejects.toMatchObject({
        code: 'checkpoint_missing',
        params: { path: path.join(target, file) },
      });
    },
  );

  it.each([
    ['vocab.json', '{"a": "b"}'],
    ['vocab.json', '{'],
    ['vocab.json', '[]'],
    ['vocab.json', '{"a": 1}'],
    ['merges.txt', '#version: 0.2\n'],
    ['merges.txt', '#version: 0.2\na b\nabc\n'],
    ['tokenizer_config.json', '{"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {}}'],
    ['tokenizer_config.json', '{"tokenizer_class": "Qwen2Tokenizer"}'],
  ])('refuses %s that reads %s', async (file, text) => {
    const target = copy();
    writeFileSync(path.join(target, file), text);
    const error = await readQwen2Tokenizer(target).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'checkpoint_invalid' });
    expect(String(error)).toContain(path.join(target, file));
  });
});

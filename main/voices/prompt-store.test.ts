import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodePrompt, encodePrompt } from './prompt-file.ts';
import { PromptStore } from './prompt-store.ts';
import type { PromptKey } from './voice-prompts.ts';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'mizuoto-prompts-')), 'voice-prompts');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const key = (change: Partial<PromptKey['reference']> = {}, part = 'icl-1', version = 'v1'): PromptKey => ({
  reference: { hash: 'aa', voice: 'anna', ...change },
  model: { id: 'echo:a', version },
  part,
});
const arrays = (length = 8, value = 1) => ({
  codes: Int32Array.from({ length }, (_, n) => n * value),
  speaker: Float32Array.from({ length }, (_, n) => (n * value) / 3),
});
const files = () =>
  readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.prompt'));
const open = (options: object = {}) => new PromptStore({ folder, ...options });

describe('a prepared prompt', () => {
  it('of a saved voice is there after a restart, bit by bit', async () => {
    await open().set(key(), arrays());
    expect(await open().get(key())).toEqual(arrays());
    expect(files()).toHaveLength(1);
  });

  it('belongs to one voice, recording, model, version and part', async () => {
    const store = open();
    await store.set(key(), arrays());
    for (const other of [
      key({ hash: 'bb' }),
      key({ voice: 'bert' }),
      key({}, 'icl-2'),
      key({}, 'icl-1', 'v2'),
      key({ voice: null }),
    ]) {
      expect(await store.get(other)).toBeNull();
    }
  });

  it('of a request’s own reference stays in memory', async () => {
    const store = open();
    const own = key({ voice: null });
    await store.set(own, arrays());
    expect(await store.get(own)).toEqual(arrays());
    expect(await open().get(own)).toBeNull();
    expect(() => readdirSync(folder)).toThrow();
  });

  it('is a copy: neither side sees what the other does to it', async () => {
    for (const voice of ['anna', null]) {
      const store = open();
      const given = arrays();
      const setting = store.set(key({ voice }), given);
      given.codes.fill(99);
      await setting;
      const got = await store.get(key({ voice }));
      got!.codes!.fill(77);
      expect(await store.get(key({ voice }))).toEqual(arrays());
    }
  });

  it('is replaced by a newer one', async () => {
    const store = open();
    await store.set(key(), arrays(8, 1));
    await store.set(key(), arrays(4, 2));
    expect(await store.get(key())).toEqual(arrays(4, 2));
    expect(files()).toHaveLength(1);
  });
});

describe('a damaged file', () => {
  it.each<[string, (path: string) => void]>([
    ['cut', (path) => truncateSync(path, 60)],
    ['empty', (path) => truncateSync(path, 0)],
    ['longer', (path) => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from('x')]))],
    ['something else', (path) => writeFileSync(path, '<html>')],
    [
      'changed by one bit',
      (path) => {
        const bytes = readFileSync(path);
        bytes[bytes.length - 3]! ^= 1;
        writeFileSync(path, bytes);
      },
    ],
  ])('that is %s is left out, removed, and made again', async (_, spoil) => {
    const store = open();
    await store.set(key(), arrays());
    spoil(join(folder, String(files()[0])));
    expect(await store.get(key())).toBeNull();
    expect(files()).toEqual([]);
    await store.set(key(), arrays());
    expect(await store.get(key())).toEqual(arrays());
  });

  it('of another key under this name is not taken', () => {
    const bytes = Buffer.concat(encodePrompt('one', arrays()));
    expect(decodePrompt(bytes, 'one')).toEqual(arrays());
    expect(decodePrompt(bytes, 'two')).toBeNull();
  });
});

describe('the limits', () => {
  it('on the disk: the longest unused go first', async () => {
    const one = encodePrompt('k', arrays(1000)).reduce((sum, piece) => sum + piece.length, 0) + 100;
    const store = open({ diskBytes: 3 * one });
    for (const voice of ['a', 'b', 'c']) {
      await store.set(key({ voice }), arrays(1000));
      await sleep(15);
    }
    // Used again: now `b` is the oldest.
    expect(await store.get(key({ voice: 'a' }))).not.toBeNull();
    await store.set(key({ voice: 'd' }), arrays(1000));
    expect(await store.get(key({ voice: 'b' }))).toBeNull();
    for (const voice of ['a', 'c', 'd']) expect(await store.get(key({ voice })), voice).not.toBeNull();
    await store.set(key({ voice: 'e' }), arrays(100_000));
    expect(await store.get(key({ voice: 'e' }))).toBeNull();
    expect(files()).toHaveLength(3);
  });

  it('on the disk, whatever is set at once', async () => {
    const store = open({ diskBytes: 50_000 });
    await Promise.all(Array.from({ length: 40 }, (_, n) => store.set(key({ voice: `v${n}` }), arrays(1000))));
    expect(files().length).toBeGreaterThan(3);
    expect(files().length).toBeLessThanOrEqual(6);
  });

  it('in memory: the longest unused go first', async () => {
    const store = open({ memoryBytes: 3 * 8000 });
    const own = (hash: string) => key({ voice: null, hash });
    for (const hash of ['a', 'b', 'c']) await store.set(own(hash), arrays(1000));
    expect(await store.get(own('a'))).not.toBeNull();
    await store.set(own('d'), arrays(1000));
    expect(await store.get(own('b'))).toBeNull();
    expect(await store.get(own('a'))).not.toBeNull();
    await store.set(own('huge'), arrays(100_000));
    expect(await store.get(own('huge'))).toBeNull();
    expect(await store.get(own('d'))).not.toBeNull();
  });
});

describe('forgetting', () => {
  it('a voice takes everything of it, also what is being written', async () => {
    const store = open();
    const writing = Promise.all([store.set(key(), arrays()), store.set(key({}, 'icl-2'), arrays())]);
    await store.set(key({ voice: 'bert' }), arrays());
    await store.forget('anna');
    await writing;
    expect(await store.get(key())).toBeNull();
    expect(await store.get(key({ voice: 'bert' }))).not.toBeNull();
    expect(readdirSync(folder)).toEqual(['bert']);
  });

  it('all but some takes what no voice has any more', async () => {
    const store = open();
    for (const voice of ['anna', 'bert', '小明']) await store.set(key({ voice }), arrays());
    await store.forgetAllBut(['bert']);
    expect(readdirSync(folder)).toEqual(['bert']);
  });

  it('no name reaches out of the folder', async () => {
    const store = open();
    const outside = join(folder, '..', 'other');
    mkdirSync(outside, { recursive: true });
    for (const voice of ['../other', '..', '.', '', 'a/b', 'a\\b', 'C:']) {
      await store.set(key({ voice }), arrays());
      await store.forget(voice);
      expect(await store.get(key({ voice }))).not.toBeNull();
    }
    expect(readdirSync(join(folder, '..'))).toEqual(['other']);
  });
});

it('a folder that cannot be written costs nothing but time', async () => {
  mkdirSync(join(folder, '..'), { recursive: true });
  writeFileSync(folder, 'a file');
  const store = open();
  await store.set(key(), arrays());
  expect(await store.get(key())).toBeNull();
  await store.forgetAllBut([]);
  const memory = new PromptStore({ folder: null });
  await memory.set(key(), arrays());
  expect(await memory.get(key())).toEqual(arrays());
});

it('any arrays come back as they were, and no bytes are taken for what they are not', () => {
  const float = fc
    .array(fc.float({ noNaN: false }), { maxLength: 20 })
    .map((list) => Float32Array.from(list));
  const int = fc.array(fc.integer(), { maxLength: 20 }).map((list) => Int32Array.from(list));
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(float, int)),
      fc.string(),
      fc.nat(),
      fc.nat(255),
      (given, name, at, value) => {
        const bytes = new Uint8Array(Buffer.concat(encodePrompt(name, given)));
        const read = decodePrompt(bytes, name)!;
        expect(Object.keys(read).sort()).toEqual(Object.keys(given).sort());
        for (const [part, array] of Object.entries(given)) {
          expect(read[part]).toBeInstanceOf(array.constructor);
          expect(Buffer.from(read[part]!.buffer).equals(Buffer.from(array.buffer))).toBe(true);
        }
        // Where one byte differs, only a header of other spacing could still mean the same; nothing else is taken.
        const place = at % bytes.length;
        if (bytes[place] === value) return;
        bytes[place] = value;
        const changed = decodePrompt(bytes, name);
        if (changed !== null)
          expect(
            Object.values(changed)
              .map(({ length }) => length)
              .sort(),
          ).toEqual(
            Object.values(read)
              .map(({ length }) => length)
              .sort(),
          );
      },
    ),
    { numRuns: 200 },
  );
});

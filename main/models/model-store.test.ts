import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ModelStore, type StoredModel } from './model-store.ts';

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-store-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => new ModelStore(folder, ({ message }) => warnings.push(message));
const file = () => join(folder, 'models.json');
const model = (id: string, change: Partial<StoredModel> = {}): StoredModel => ({
  id,
  engine: 'echo',
  name: null,
  folder: `/models/${id}`,
  owned: false,
  addedAt: 1,
  ...change,
});
const put = (store: ModelStore, added: StoredModel) =>
  store.update((models) => ({ models: [...models, added], result: added.id }));

it('keeps what is put in, for the next one who looks', async () => {
  const store = open();
  expect(store.list()).toEqual([]);
  expect(await put(store, model('a', { name: '名字', folder: 'C:\\模型 🙂' }))).toBe('a');
  expect(open().list()).toEqual([model('a', { name: '名字', folder: 'C:\\模型 🙂' })]);
  expect(readdirSync(folder)).toEqual(['models.json']);
  expect(warnings).toEqual([]);
});

it('sees what another process does, and neither loses the other’s', async () => {
  const [one, two] = [open(), open()];
  await put(one, model('a'));
  expect(two.list()).toHaveLength(1);
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => put(n % 2 ? one : two, model(`m${n}`, { addedAt: n }))),
  );
  expect(
    one
      .list()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(
    two
      .list()
      .map(({ id }) => id)
      .sort(),
  );
  expect(one.list()).toHaveLength(21);
});

it.each([
  '',
  '{',
  '[]',
  'null',
  '{"version": 1}',
  '{"version": 1, "models": {}}',
  '\0\0\0',
  'version https://git-lfs.github.com/spec/v1',
])('a file that is %j is kept aside once, with one warning, and a new one begins', async (text) => {
  writeFileSync(file(), text);
  const store = open();
  expect(store.list()).toEqual([]);
  expect(store.list()).toEqual([]);
  expect(open().list()).toEqual([]);
  expect(new Set(warnings).size).toBe(1);
  expect(readFileSync(`${file()}.bak`, 'utf8')).toBe(text);
  await put(store, model('a'));
  expect(open().list()).toEqual([model('a')]);
  expect(readFileSync(`${file()}.bak`, 'utf8')).toBe(text);
  expect(readdirSync(folder).sort()).toEqual(['models.json', 'models.json.bak']);
});

it('an older backup stays', () => {
  writeFileSync(`${file()}.bak`, 'older');
  writeFileSync(file(), '{');
  expect(open().list()).toEqual([]);
  expect(readFileSync(`${file()}.bak`, 'utf8')).toBe('older');
  expect(readFileSync(`${file()}.bak2`, 'utf8')).toBe('{');
});

it('entries and keys of another version stay in the file', async () => {
  const foreign = { id: 'x:y', engine: 7, what: ['?'] };
  const known = { id: 'a', engine: 'echo', folder: '/a', added_at: 1, precision: 'q4' };
  writeFileSync(file(), JSON.stringify({ version: 9, mirrors: ['m'], models: [foreign, known, known] }));
  const store = open();
  expect(store.list()).toEqual([model('a', { folder: '/a' })]);
  await put(store, model('b'));
  const written = JSON.parse(readFileSync(file(), 'utf8'));
  expect(written).toMatchObject({ version: 9, mirrors: ['m'] });
  expect(written.models).toEqual(
    expect.arrayContaining([foreign, expect.objectContaining(known), expect.objectContaining({ id: 'b' })]),
  );
  expect(written.models).toHaveLength(4);
  expect(warnings).toHaveLength(2);
});

it('a byte order mark is no damage', () => {
  writeFileSync(file(), `\ufeff${JSON.stringify({ version: 1, models: [] })}`);
  expect(open().list()).toEqual([]);
  expect(warnings).toEqual([]);
});

it('a file that can be neither read nor kept aside is not written over', async () => {
  mkdirSync(file());
  const store = open();
  expect(store.list()).toEqual([]);
  await expect(put(store, model('a'))).rejects.toMatchObject({ code: 'output_not_writable' });
  expect(warnings).toHaveLength(1);
});

it('a home that cannot be written is an error that names it', async () => {
  writeFileSync(join(folder, 'home'), '');
  const store = new ModelStore(join(folder, 'home', 'x'), () => {});
  expect(store.list()).toEqual([]);
  await expect(put(store, model('a'))).rejects.toMatchObject({ code: 'output_not_writable' });
});

it('a change that throws changes nothing and leaves no lock', async () => {
  const store = open();
  await put(store, model('a'));
  const before = readFileSync(file(), 'utf8');
  const change = store.update(() => {
    throw new RangeError('no');
  });
  await expect(change).rejects.toThrow('no');
  expect(readFileSync(file(), 'utf8')).toBe(before);
  expect(readdirSync(folder)).toEqual(['models.json']);
});

it('any JSON in the file: no exception, and whatever is in the list comes back after a write', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 5 }), async (entries) => {
      writeFileSync(file(), JSON.stringify({ version: 1, models: entries }));
      const store = open();
      await put(store, model('fresh', { addedAt: 5 }));
      const written = JSON.parse(readFileSync(file(), 'utf8')).models as unknown[];
      expect(written).toEqual(expect.arrayContaining(JSON.parse(JSON.stringify(entries))));
    }),
    { numRuns: 60 },
  );
});

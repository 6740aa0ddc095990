import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { savedVoiceSchema } from '../contract/index.ts';
import { referenceWav } from '../host/testing/reference-wav.ts';
import { VoiceStore } from './voice-store.ts';

let home: string;
let warnings: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mizuoto-voices-'));
  warnings = [];
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = () => new VoiceStore(home, ({ message }) => warnings.push(message));
const audio = referenceWav(2);
const voice = (name: string, change: object = {}) => ({ name, audio, language: null, text: null, ...change });
const names = async (store = open()) => (await store.list()).map(({ name }) => name);
const folders = () => readdirSync(join(home, 'voices')).sort();

describe('a saved voice', () => {
  it('is kept as it was given, and found by id, name, and whatever the case', async () => {
    const store = open();
    const made = await store.add(voice('  Anna   Warm ', { language: 'zh_cn', text: ' 水流过石头。 ' }));
    expect(savedVoiceSchema.parse(made)).toEqual(made);
    expect(made).toMatchObject({
      id: 'anna-warm',
      name: 'Anna Warm',
      language: 'zh-CN',
      text: '水流过石头。',
      seconds: 2,
      sample_rate: 24_000,
      warnings: [],
    });
    expect(await open().list()).toEqual([made]);
    for (const asked of ['anna-warm', 'Anna Warm', 'ANNA WARM', 'saved:anna warm']) {
      expect(await store.get(asked)).toEqual(made);
    }
    expect(await store.audio(made)).toEqual(audio);
    expect(folders()).toEqual(['anna-warm']);
    expect(readdirSync(join(home, 'voices', 'anna-warm')).sort()).toEqual(['reference.wav', 'voice.json']);
  });

  it('keeps what is not ideal about its recording', async () => {
    const made = await open().add(voice('low', { audio: referenceWav(2, { sampleRate: 8000 }) }));
    expect(made.warnings).toMatchObject([{ code: 'reference_rate', params: { rate: 8000 } }]);
    expect((await open().list())[0]!.warnings).toEqual(made.warnings);
  });

  it.each([
    'CON',
    'nul',
    'COM1',
    '..',
    '../../etc',
    '🙂🙂',
    '小明的声音',
    'a/b\\c:d*?"<>|',
    'é',
    'x'.repeat(80),
    ' . ',
  ])('may be called %j, and lies in a folder of its own', async (name) => {
    const store = open();
    const made = await store.add(voice(name));
    expect(await names()).toEqual([name.normalize('NFC').trim()]);
    expect(await store.get(name)).toEqual(made);
    expect(folders()).toEqual([made.id]);
    expect(readdirSync(home).sort()).toEqual(['voices']);
    await store.remove(name);
    expect(folders()).toEqual([]);
  });

  it.each(['', '   ', '\u200b\ufeff', 'a\x07b', 'a\0b', '\ud800', 'x'.repeat(81), 'saved:me'])(
    'may not be called %j',
    async (name) => {
      await expect(open().add(voice(name))).rejects.toMatchObject({
        code: 'invalid_request',
        params: { field: 'name' },
      });
    },
  );

  it('has its name alone, in any case, and an id of its own', async () => {
    const store = open();
    await store.add(voice('Anna!'));
    await expect(store.add(voice('ANNA!'))).rejects.toMatchObject({
      code: 'name_taken',
      params: { name: 'Anna!' },
    });
    expect(await store.add(voice('Anna?'))).toMatchObject({ id: 'anna-2' });
    // What finds one voice never finds another.
    await expect(store.add(voice('anna-2'))).rejects.toMatchObject({ code: 'name_taken' });
    await store.add(voice('carl-2'));
    await store.add(voice('Carl'));
    expect(await store.add(voice('carl?'))).toMatchObject({ id: 'carl-3' });
    // A folder that nobody can read keeps its place.
    mkdirSync(join(home, 'voices', 'BERT'));
    expect(await store.add(voice('bert'))).toMatchObject({ id: 'bert-2' });
  });

  it('is refused with a bad language, transcript or recording, and leaves nothing', async () => {
    const store = open();
    const bad: [object, string][] = [
      [{ language: 'not a tag' }, 'invalid_request'],
      [{ text: 'a\0b' }, 'text_malformed'],
      [{ text: 'half \ud800' }, 'text_malformed'],
      [{ audio: new Uint8Array(10) }, 'file_unreadable'],
      [{ audio: referenceWav(0.2) }, 'reference_unusable'],
      [{ audio: referenceWav(2, { level: 0 }) }, 'reference_unusable'],
    ];
    for (const [change, code] of bad) {
      await expect(store.add(voice('anna', change)), code).rejects.toMatchObject({ code });
    }
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('changing and removing', () => {
  it('changes the name, language and words; the id and the recording stay', async () => {
    const store = open();
    const made = await store.add(voice('Anna', { text: 'Old.' }));
    const changed = await store.update('anna', { name: 'Bert', language: 'en', text: '' });
    expect(changed).toEqual({ ...made, name: 'Bert', language: 'en', text: null });
    expect(await open().list()).toEqual([changed]);
    expect(await store.audio(changed)).toEqual(audio);
    await store.update('Bert', { name: 'BERT' });
    await store.add(voice('Carl'));
    await expect(store.update('BERT', { name: 'carl' })).rejects.toMatchObject({ code: 'name_taken' });
    await expect(store.update('Nobody', { name: 'x' })).rejects.toMatchObject({ code: 'unknown_voice' });
  });

  it('removes it for everyone, once', async () => {
    const [one, two] = [open(), open()];
    await one.add(voice('Anna'));
    expect(await names(two)).toEqual(['Anna']);
    const ends = await Promise.allSettled([one.remove('Anna'), two.remove('Anna')]);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await names(one)).toEqual([]);
    expect(folders()).toEqual([]);
    await expect(one.remove('Anne')).rejects.toThrow(/There is: none/);
  });

  it('many at once, in several programs, all stay', async () => {
    const stores = [open(), open(), open()];
    await Promise.all(Array.from({ length: 15 }, (_, n) => stores[n % 3]!.add(voice(`Voice ${n}`))));
    expect((await names()).sort()).toEqual(Array.from({ length: 15 }, (_, n) => `Voice ${n}`).sort());
    const same = await Promise.allSettled(stores.map((store) => store.add(voice('Same'))));
    expect(same.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('a folder', () => {
  it('that is no voice is left alone, with one warning', async () => {
    const store = open();
    await store.add(voice('Anna'));
    const place = join(home, 'voices');
    for (const [name, content] of Object.entries({ broken: '{', foreign: '{"id": 7}', empty: null })) {
      mkdirSync(join(place, name));
      if (content !== null) writeFileSync(join(place, name, 'voice.json'), content);
    }
    mkdirSync(join(place, 'silent'));
    writeFileSync(join(place, 'silent', 'voice.json'), readFileSync(join(place, 'anna', 'voice.json')));
    writeFileSync(join(place, 'notes.txt'), 'mine');
    expect(await names(store)).toEqual(['Anna']);
    expect(await names(store)).toEqual(['Anna']);
    expect(warnings).toHaveLength(4);
    expect(warnings.join(' ')).toMatch(/broken .*not JSON/);
    expect(folders()).toEqual(['anna', 'broken', 'empty', 'foreign', 'notes.txt', 'silent']);
  });

  it('that was copied by hand is a voice of its own', async () => {
    const store = open();
    const made = await store.add(voice('Anna'));
    const copy = join(home, 'voices', 'copy');
    mkdirSync(copy);
    for (const file of ['voice.json', 'reference.wav']) {
      writeFileSync(join(copy, file), readFileSync(join(home, 'voices', made.id, file)));
    }
    expect((await store.list()).map(({ id }) => id)).toEqual(['anna', 'copy']);
  });

  it('left by a program that was ended is cleared away after an hour', async () => {
    const place = join(home, 'voices');
    for (const name of ['.making-1-aa', '.removed-1-bb', '.making-2-cc'])
      mkdirSync(join(place, name), { recursive: true });
    for (const name of ['.making-1-aa', '.removed-1-bb']) utimesSync(join(place, name), 1, 1);
    const store = open();
    expect(await names(store)).toEqual([]);
    await store.add(voice('Anna'));
    expect(folders()).toEqual(['.making-2-cc', 'anna']);
  });

  it('that cannot be written is an error that names it', async () => {
    writeFileSync(join(home, 'voices'), 'a file');
    expect(await open().list()).toEqual([]);
    await expect(open().add(voice('Anna'))).rejects.toMatchObject({ code: 'output_not_writable' });
  });

  it('whose recording is gone says so', async () => {
    const store = open();
    const made = await store.add(voice('Anna'));
    rmSync(join(home, 'voices', 'anna', 'reference.wav'));
    await expect(store.audio(made)).rejects.toMatchObject({
      code: 'file_unreadable',
      params: { reason: 'ENOENT' },
    });
  });
});

it('any name is kept and found, or refused; nothing is ever written elsewhere', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 90 }), async (name) => {
      const store = open();
      try {
        const made = await store.add(voice(name));
        expect(await store.get(made.name)).toEqual(made);
        expect(folders()).toEqual([made.id]);
        await store.remove(made.id);
      } catch (error) {
        expect((error as { code?: string }).code).toBe('invalid_request');
      }
      expect(readdirSync(home).filter((entry) => entry !== 'voices')).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

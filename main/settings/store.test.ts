import { fork } from 'node:child_process';
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
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../contract/index.ts';
import { SettingsStore } from './store.ts';

let folder: string;
let warnings: string[];
const open = () => new SettingsStore({ folder, warn: ({ message }) => warnings.push(message) });
const file = () => join(folder, 'settings.json');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-settings-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the settings file', () => {
  it('starts with the defaults and writes nothing', () => {
    expect(open().get()).toEqual(defaultSettings());
    expect(readdirSync(folder)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('keeps what was set, and only that', async () => {
    const set = await open().set({ 'ui.theme': 'dark', 'compute.vram_reserve_mb': 512 });
    expect(set['ui.theme']).toBe('dark');
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ 'ui.theme': 'dark' });
    expect(open().get()['ui.theme']).toBe('dark');
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });

  it('changes nothing when one value of a patch is bad', async () => {
    const store = open();
    await expect(store.set({ 'ui.theme': 'dark', 'compute.async_offload': 99 })).rejects.toMatchObject({
      code: 'invalid_setting',
    });
    expect(store.get()).toEqual(defaultSettings());
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses a contradiction with what is stored', async () => {
    const store = open();
    await store.set({ 'compute.vram_mode': 'high' });
    await expect(store.set({ 'compute.vram_limit_mb': 100 })).rejects.toMatchObject({
      code: 'contradictory_settings',
    });
    expect(store.get()['compute.vram_limit_mb']).toBeNull();
  });

  it('keeps a file aside that is no settings file, each time', async () => {
    writeFileSync(file(), '{"ui.theme": "dark"');
    const store = open();
    expect(store.get()).toEqual(defaultSettings());
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`kept as ${file()}.bak`);
    expect(readFileSync(`${file()}.bak`, 'utf8')).toBe('{"ui.theme": "dark"');
    writeFileSync(file(), '[1]');
    expect(open().get()).toEqual(defaultSettings());
    expect(readFileSync(`${file()}.bak`, 'utf8')).toBe('{"ui.theme": "dark"');
    expect(readFileSync(`${file()}.2.bak`, 'utf8')).toBe('[1]');
    await store.set({ 'ui.theme': 'light' });
    expect(open().get()['ui.theme']).toBe('light');
  });

  it('survives a folder in its place', () => {
    mkdirSync(file());
    expect(open().get()).toEqual(defaultSettings());
    expect(warnings).toHaveLength(1);
  });

  it('uses defaults for bad values and keeps keys of other versions', async () => {
    writeFileSync(
      file(),
      JSON.stringify({
        'ui.theme': 'dark',
        'compute.threads': 'many',
        'compute.vram_mod': 'low',
        'later.key': { a: 1 },
      }),
    );
    const store = open();
    expect(store.get()).toEqual({ ...defaultSettings(), 'ui.theme': 'dark' });
    expect(warnings).toHaveLength(3);
    expect(warnings.join('\n')).toContain('did you mean compute.vram_mode?');
    store.get();
    expect(warnings).toHaveLength(3);
    await store.set({ 'ui.language': 'en' });
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({
      'ui.theme': 'dark',
      'ui.language': 'en',
      'compute.vram_mod': 'low',
      'later.key': { a: 1 },
    });
  });

  it('falls back to the default memory policy when the file contradicts itself', () => {
    writeFileSync(
      file(),
      JSON.stringify({ 'ui.theme': 'dark', 'compute.vram_mode': 'high', 'compute.vram_limit_mb': 1 }),
    );
    expect(open().get()).toEqual({ ...defaultSettings(), 'ui.theme': 'dark' });
    expect(warnings).toHaveLength(1);
  });

  it('sees what another process wrote', async () => {
    const store = open();
    const seen: string[] = [];
    store.onChange((settings) => seen.push(settings['ui.theme']));
    await open().set({ 'ui.theme': 'light' });
    expect(store.get()['ui.theme']).toBe('light');
    expect(seen).toEqual(['light']);
  });

  it('breaks a lock whose owner is gone', async () => {
    writeFileSync(`${file()}.lock`, '999999999 0');
    await open().set({ 'ui.theme': 'light' });
    writeFileSync(`${file()}.lock`, `${process.pid} other`);
    const old = new Date(Date.now() - 60_000);
    utimesSync(`${file()}.lock`, old, old);
    await open().set({ 'ui.theme': 'dark' });
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });

  it('says when its folder cannot be made', async () => {
    writeFileSync(join(folder, 'plain'), '');
    const store = new SettingsStore({ folder: join(folder, 'plain', 'inner'), warn: () => {} });
    await expect(store.set({ 'ui.theme': 'dark' })).rejects.toMatchObject({ code: 'output_not_writable' });
  });
});

it('several processes writing at once lose nothing', async () => {
  const script = join(folder, 'writer.mjs');
  await build({
    stdin: {
      contents: `import { SettingsStore } from './store.ts';
        const [folder, key, value] = process.argv.slice(2);
        for (let i = 0; i < 5; i++)
          await new SettingsStore({ folder, warn() {} }).set({ [key]: i === 4 ? JSON.parse(value) : null });`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: script,
  });
  const patches = {
    'compute.threads': 3,
    'compute.vram_limit_mb': 4000,
    'compute.ram_reserve_mb': 5,
    'compute.max_pinned_mb': 6,
  };
  const ends = Object.entries(patches).map(
    ([key, value]) =>
      new Promise((done) =>
        fork(script, [folder, key, JSON.stringify(value)]).on('exit', (code) => done(code)),
      ),
  );
  expect(await Promise.all(ends)).toEqual([0, 0, 0, 0]);
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual(patches);
  expect(readdirSync(folder).sort()).toEqual(['settings.json', 'writer.mjs']);
});

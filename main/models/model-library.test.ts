import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modelCheckSchema, modelEntrySchema } from '../contract/index.ts';
import { testModelEngines } from '../host/testing/echo-engine.ts';
import { echoFolder, emptyCheckpoint } from '../host/testing/echo-folder.ts';
import { modelCaches } from './caches.ts';
import { ModelLibrary } from './model-library.ts';

let root: string;
let home: string;
let warnings: string[];
let library: ModelLibrary;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'mizuoto-library-')));
  home = join(root, 'home');
  warnings = [];
  library = open();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (engines = testModelEngines) =>
  new ModelLibrary({ folder: home, engines, warn: (message) => warnings.push(message) });
const entry = async (id: string) => {
  await library.refresh();
  return modelEntrySchema.parse(library.entry(id));
};
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

/** A repository in the layout of the Hugging Face cache: snapshots of links into `blobs`. */
function huggingFaceCache(commits: string[], main: string | null = commits[0]!): string {
  const repository = join(root, 'hub', 'models--mizuoto--echo');
  const blobs = join(repository, 'blobs');
  mkdirSync(blobs, { recursive: true });
  mkdirSync(join(repository, 'refs'), { recursive: true });
  if (main !== null) writeFileSync(join(repository, 'refs', 'main'), main);
  const hash = createHash('sha256').update(emptyCheckpoint).digest('hex');
  writeFileSync(join(blobs, hash), emptyCheckpoint);
  for (const commit of commits) {
    const snapshot = join(repository, 'snapshots', commit);
    mkdirSync(snapshot, { recursive: true });
    writeFileSync(join(blobs, `config-${commit}`), JSON.stringify({ engine: 'echo', variant: commit }));
    symlinkSync(join('..', '..', 'blobs', `config-${commit}`), join(snapshot, 'config.json'));
    symlinkSync(join('..', '..', 'blobs', hash), join(snapshot, 'model.safetensors'));
  }
  return repository;
}

describe('adding', () => {
  it('uses a folder where it lies and is remembered', async () => {
    const folder = echoFolder(root, 'Мои модели 模型 🙂');
    const before = readdirSync(folder);
    const added = await library.add(folder);
    expect(modelEntrySchema.parse(added)).toMatchObject({
      id: 'echo:folder',
      engine: 'echo',
      state: 'installed',
      licence: 'Apache-2.0',
      folder,
      owned: false,
      size_bytes: 17 + 10,
    });
    expect(readdirSync(folder)).toEqual(before);
    const again = open();
    await again.refresh();
    expect(again.installed()).toMatchObject([
      { id: 'echo:folder', folder, builtIn: false, variant: 'folder' },
    ]);
    expect(again.entries()).toHaveLength(1);
  });

  it('takes a file for its folder, and a second time for the first', async () => {
    const folder = echoFolder(root, 'm');
    symlinkSync(folder, join(root, 'link'));
    const first = await library.add(join(folder, 'model.safetensors'));
    const second = await library.add(join(root, 'link'));
    expect(second).toEqual(first);
    await library.refresh();
    expect(library.installed()).toHaveLength(1);
  });

  it('gives it the name it is given; a second of its kind needs one', async () => {
    await library.add(echoFolder(root, 'a'));
    const other = echoFolder(root, 'b');
    await expect(library.add(other)).rejects.toMatchObject({
      code: 'name_taken',
      params: { name: 'echo:folder', path: join(root, 'a') },
    });
    const named = await library.add(other, ' 我的 Anna! ');
    expect(named).toMatchObject({ id: 'echo:我的-anna', name: '我的 Anna!', state: 'installed' });
    // The same folder under another name is renamed, not added again.
    await library.add(other, 'Bert');
    await library.refresh();
    expect(library.installed().map(({ id }) => id)).toEqual(['echo:folder', 'echo:bert']);
    await expect(library.add(echoFolder(root, 'c'), 'bert')).rejects.toMatchObject({ code: 'name_taken' });
    for (const name of ['', '  ', 'a\nb', 'x'.repeat(81)]) {
      await expect(library.add(other, name)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('finds the branch main in the Hugging Face cache, else the newest snapshot', async () => {
    const repository = huggingFaceCache(['aaa', 'bbb'], 'bbb\n');
    expect(await library.add(repository)).toMatchObject({
      id: 'echo:bbb',
      folder: join(repository, 'snapshots', 'bbb'),
    });
    await library.remove('echo:bbb');
    rmSync(join(repository, 'refs'), { recursive: true });
    utimesSync(join(repository, 'snapshots', 'bbb'), 1, 1);
    expect(await library.add(join(repository, 'snapshots'))).toMatchObject({ id: 'echo:aaa' });
    expect(await library.add(join(repository, 'snapshots', 'bbb', 'config.json'))).toMatchObject({
      id: 'echo:bbb',
    });
  });

  it('passes over a snapshot that was never completed', async () => {
    const repository = huggingFaceCache(['aaa', 'bbb'], 'aaa');
    rmSync(join(repository, 'snapshots', 'aaa', 'model.safetensors'));
    expect(await library.add(repository)).toMatchObject({ id: 'echo:bbb' });
    rmSync(join(repository, 'snapshots', 'bbb', 'model.safetensors'));
    await expect(library.add(repository)).rejects.toMatchObject({
      code: 'checkpoint_missing',
      params: { file: 'model.safetensors' },
    });
  });

  it('takes the one model in a whole cache, and asks where there are several', async () => {
    const repository = huggingFaceCache(['aaa']);
    expect(await library.add(dirname(repository))).toMatchObject({ id: 'echo:aaa' });
    echoFolder(dirname(repository), 'Echo-0___6B');
    const error = await failure(library.add(dirname(repository)));
    expect(error).toMatchObject({ code: 'model_not_recognised', params: { count: 2 } });
    expect(String(error)).toMatch(/Echo-0___6B/);
  });

  it.each<[string, (folder: string) => void, string, RegExp]>([
    [
      'no weights',
      (folder) => rmSync(join(folder, 'model.safetensors')),
      'checkpoint_missing',
      /"model.safetensors" is missing/,
    ],
    [
      'a pointer',
      (folder) =>
        writeFileSync(join(folder, 'model.safetensors'), 'version https://git-lfs.github.com/spec/v1\n'),
      'checkpoint_invalid',
      /Git LFS pointer/,
    ],
    [
      'a page for a configuration',
      (folder) => writeFileSync(join(folder, 'config.json'), '<!doctype html>'),
      'checkpoint_invalid',
      /"config.json" .*web page/,
    ],
    [
      'another kind of model',
      (folder) => writeFileSync(join(folder, 'config.json'), '{"model_type": "llama"}'),
      'model_not_recognised',
      /another kind/,
    ],
    [
      'no configuration',
      (folder) => rmSync(join(folder, 'config.json')),
      'model_not_recognised',
      /holds no config.json/,
    ],
    ['nothing', (folder) => rmSync(folder, { recursive: true }), 'file_not_found', /does not exist/],
  ])('refuses a folder with %s and says so', async (_, spoil, code, message) => {
    const folder = echoFolder(root, 'm');
    spoil(folder);
    await expect(library.add(folder)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
    await library.refresh();
    expect(library.installed()).toEqual([]);
    expect(existsSync(join(home, 'models.json'))).toBe(false);
  });

  it.skipIf(process.platform === 'win32')(
    'is not caught in links that lead in circles, nor lost in huge folders',
    async () => {
      symlinkSync('b', join(root, 'a'));
      symlinkSync('a', join(root, 'b'));
      await expect(library.add(join(root, 'a'))).rejects.toMatchObject({ code: 'file_unreadable' });
      const huge = join(root, 'huge');
      mkdirSync(huge);
      symlinkSync('.', join(huge, 'self'));
      for (let n = 0; n < 5000; n++) writeFileSync(join(huge, `file-${n}`), '');
      const begin = performance.now();
      await expect(library.add(huge)).rejects.toMatchObject({ code: 'model_not_recognised' });
      expect(performance.now() - begin).toBeLessThan(10_000);
      await expect(library.add('a\0b')).rejects.toMatchObject({ code: 'file_unreadable' });
      await expect(library.add('/dev/null')).rejects.toMatchObject({ code: 'file_unreadable' });
    },
  );

  it('of many at once keeps every one', async () => {
    const folders = Array.from({ length: 12 }, (_, n) => echoFolder(root, `m${n}`, { variant: `v${n}` }));
    const others = [open(), open(), open()];
    await Promise.all(folders.map((folder, n) => others[n % 3]!.add(folder)));
    await library.refresh();
    expect(
      library
        .installed()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(folders.map((_, n) => `echo:v${n}`).sort());
  });
});

describe('finding', () => {
  it('whole models in the caches of other tools, once each, until they are added', async () => {
    const repository = huggingFaceCache(['aaa']);
    const modelscope = join(root, 'modelscope');
    const scoped = echoFolder(join(modelscope, 'hub', 'models', 'Owner'), 'Echo-0___6B', { variant: 'ms' });
    echoFolder(join(modelscope, 'hub', 'models', 'Owner'), 'cut', { variant: 'cut' });
    rmSync(join(modelscope, 'hub', 'models', 'Owner', 'cut', 'model.safetensors'));
    mkdirSync(join(dirname(repository), 'models--other--empty', 'snapshots'), { recursive: true });
    const caches = modelCaches({ HF_HUB_CACHE: dirname(repository), MODELSCOPE_CACHE: modelscope }, root);
    library = new ModelLibrary({ folder: home, engines: testModelEngines, warn: () => {}, caches });
    const found = await library.find();
    expect(found).toMatchObject([
      { site: 'huggingface', id: 'echo:aaa', folder: join(repository, 'snapshots', 'aaa') },
      { site: 'modelscope', id: 'echo:ms', folder: scoped, size_bytes: 42 },
    ]);
    for (const { folder } of found) await library.add(folder);
    expect(await library.find()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it.each<[NodeJS.ProcessEnv, string]>([
    [{}, '/h/.cache/huggingface/hub'],
    [{ XDG_CACHE_HOME: '/x' }, '/x/huggingface/hub'],
    [{ HF_HOME: '/hf', XDG_CACHE_HOME: '/x' }, '/hf/hub'],
    [{ HUGGINGFACE_HUB_CACHE: '/old', HF_HOME: '/hf' }, '/old'],
    [{ HF_HUB_CACHE: '/new', HUGGINGFACE_HUB_CACHE: '/old' }, '/new'],
  ])('where %j says', (env, folder) => {
    expect(modelCaches(env, '/h')[0]).toEqual({ site: 'huggingface', folder: join(folder) });
    expect(modelCaches({ ...env, MODELSCOPE_CACHE: '/ms' }, '/h').map((cache) => cache.folder)).toContain(
      join('/ms/hub/models'),
    );
  });
});

describe('what is listed', () => {
  it('has what could be installed, with its page, until it is', async () => {
    expect(await entry('echo:folder')).toMatchObject({
      state: 'not_installed',
      folder: null,
      sources: [
        {
          site: 'huggingface',
          repository: 'mizuoto/echo-folder',
          url: 'https://huggingface.co/mizuoto/echo-folder',
        },
      ],
    });
    await library.add(echoFolder(root, 'm'), 'mine');
    await library.refresh();
    expect(library.entries().map(({ id, state }) => [id, state])).toEqual([['echo:mine', 'installed']]);
  });

  it('says what became of a folder, and takes it back where it is now', async () => {
    const folder = echoFolder(root, 'm');
    await library.add(folder);
    renameSync(join(folder, 'model.safetensors'), join(folder, 'x'));
    expect(await entry('echo:folder')).toMatchObject({
      state: 'damaged',
      problems: [{ code: 'checkpoint_missing', params: { file: 'model.safetensors' } }],
    });
    expect(library.installed()).toEqual([]);
    renameSync(join(folder, 'x'), join(folder, 'model.safetensors'));
    expect(await entry('echo:folder')).toMatchObject({ state: 'installed' });
    const moved = join(root, 'moved');
    renameSync(folder, moved);
    expect(await entry('echo:folder')).toMatchObject({
      state: 'damaged',
      name: 'Echo from a folder',
      problems: [{ message: expect.stringMatching(/is gone/) }],
    });
    expect(await library.add(moved)).toMatchObject({ id: 'echo:folder', state: 'installed', folder: moved });
    expect(library.entries()).toHaveLength(1);
    writeFileSync(join(moved, 'config.json'), '{"engine": "other"}');
    expect(await entry('echo:folder')).toMatchObject({ problems: [{ code: 'model_not_recognised' }] });
  });

  it('has a new version once a file changed', async () => {
    const folder = echoFolder(root, 'm');
    await library.add(folder);
    const [before] = library.installed();
    await library.refresh();
    expect(library.installed()[0]!.version).toBe(before!.version);
    utimesSync(join(folder, 'model.safetensors'), 5, 5);
    await library.refresh();
    expect(library.installed()[0]!.version).not.toBe(before!.version);
  });

  it('keeps a model of an engine that this version does not have', async () => {
    await library.add(echoFolder(root, 'm'));
    library = open([]);
    expect(await entry('echo:folder')).toMatchObject({ state: 'unknown_engine', problems: [] });
    expect(library.installed()).toEqual([]);
    expect(JSON.parse(readFileSync(join(home, 'models.json'), 'utf8')).models).toHaveLength(1);
  });

  it('names what is near where a model is unknown', async () => {
    await expect(library.remove('echo:foldr')).rejects.toThrow(/Did you mean "echo:folder"/);
    await expect(library.check('x'.repeat(500))).rejects.toMatchObject({ code: 'unknown_model' });
  });
});

describe('removing', () => {
  it('forgets, and leaves a folder that the studio did not make', async () => {
    const folder = echoFolder(root, 'm');
    await library.add(folder);
    expect(await library.remove('echo:folder')).toEqual({ model: 'echo:folder', folder, deleted_bytes: 0 });
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'model.safetensors']);
    expect(await entry('echo:folder')).toMatchObject({ state: 'not_installed' });
    await expect(library.remove('echo:folder')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('deletes what the studio fetched, and only below its own folder, whatever models.json says', async () => {
    const own = echoFolder(join(home, 'models'), 'echo-folder');
    await library.add(own);
    const claim = () => {
      const path = join(home, 'models.json');
      const file = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(
        path,
        JSON.stringify({ ...file, models: file.models.map((model: object) => ({ ...model, owned: true })) }),
      );
    };
    claim();
    expect(await library.remove('echo:folder')).toMatchObject({ deleted_bytes: 27 });
    expect(existsSync(own)).toBe(false);
    expect(existsSync(join(home, 'models'))).toBe(true);
    const foreign = echoFolder(root, 'foreign');
    symlinkSync(foreign, join(home, 'models', 'link'));
    for (const path of [foreign, join(home, 'models', 'link')]) {
      await library.add(path);
      claim();
      expect(await library.remove('echo:folder')).toMatchObject({ deleted_bytes: 0 });
      expect(existsSync(join(foreign, 'config.json'))).toBe(true);
    }
  });
});

describe('checking', () => {
  it('compares with the catalog’s hash, and finds one changed byte', async () => {
    const folder = echoFolder(root, 'm');
    await library.add(folder);
    const steps: number[] = [];
    const sound = await library.check('echo:folder', { onProgress: (_, fraction) => steps.push(fraction) });
    expect(modelCheckSchema.parse(sound)).toMatchObject({
      ok: true,
      files: [
        { path: 'config.json', state: 'present', error: null },
        { path: 'model.safetensors', state: 'verified', size_bytes: 10 },
      ],
    });
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps.at(-1)).toBe(1);
    // Still a whole checkpoint of the same length: only the hash knows.
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.concat([emptyCheckpoint.subarray(0, 8), Buffer.from('{}')]),
    );
    expect(await library.check('echo:folder')).toMatchObject({ ok: true });
    const longer = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]);
    writeFileSync(join(folder, 'model.safetensors'), longer);
    expect(await library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{}, { state: 'damaged', error: { message: expect.stringMatching(/11 of 10 bytes/) } }],
    });
    rmSync(join(folder, 'model.safetensors'));
    expect(await library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{ state: 'present' }, { path: 'model.safetensors', state: 'missing' }],
      problems: [],
    });
    rmSync(folder, { recursive: true });
    expect(await library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{ state: 'missing' }, { state: 'missing' }],
    });
  });

  it('knows the hash of a file in the Hugging Face cache by its name', async () => {
    const repository = huggingFaceCache(['aaa']);
    await library.add(repository, 'cached');
    expect(await library.check('echo:cached')).toMatchObject({
      ok: true,
      files: [{}, { state: 'verified' }],
    });
    const blob = realpathSync(join(repository, 'snapshots', 'aaa', 'model.safetensors'));
    writeFileSync(blob, Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]));
    expect(await library.check('echo:cached')).toMatchObject({
      ok: false,
      files: [{}, { state: 'damaged', error: { message: expect.stringMatching(/has the hash/) } }],
    });
  });

  it('a fine-tuned model under a name of its own is not compared with the published one', async () => {
    const folder = echoFolder(root, 'm');
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]),
    );
    await library.add(folder, 'tuned');
    expect(await library.check('echo:tuned')).toMatchObject({ ok: true, files: [{}, { state: 'present' }] });
  });

  it('stops when it is told to', async () => {
    await library.add(echoFolder(root, 'm'));
    const abort = new AbortController();
    abort.abort();
    await expect(library.check('echo:folder', { signal: abort.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it('what is not installed is not checked', async () => {
    await expect(library.check('echo:folder')).rejects.toMatchObject({
      code: 'model_not_installed',
      params: { repository: 'mizuoto/echo-folder' },
    });
  });
});

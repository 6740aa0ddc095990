import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelEntrySchema } from '../contract/index.ts';
import { testModelEngines } from '../host/testing/echo-engine.ts';
import { echoFolder } from '../host/testing/echo-folder.ts';
import { LibraryRig } from '../host/testing/library-rig.ts';
import { modelCaches } from './caches.ts';
import { ModelLibrary } from './model-library.ts';

const rig = new LibraryRig();

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

describe('adding', () => {
  it('uses a folder where it lies and is remembered', async () => {
    const folder = echoFolder(rig.root, 'Мои модели 模型 🙂');
    const before = readdirSync(folder);
    const added = await rig.library.add(folder);
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
    const again = rig.open();
    await again.refresh();
    expect(again.installed()).toMatchObject([
      { id: 'echo:folder', folder, builtIn: false, variant: 'folder' },
    ]);
    expect(again.entries()).toHaveLength(1);
  });

  it('takes a file for its folder, and a second time for the first', async () => {
    const folder = echoFolder(rig.root, 'm');
    symlinkSync(folder, join(rig.root, 'link'));
    const first = await rig.library.add(join(folder, 'model.safetensors'));
    const second = await rig.library.add(join(rig.root, 'link'));
    expect(second).toEqual(first);
    await rig.library.refresh();
    expect(rig.library.installed()).toHaveLength(1);
  });

  it('gives it the name it is given; a second of its kind needs one', async () => {
    await rig.library.add(echoFolder(rig.root, 'a'));
    const other = echoFolder(rig.root, 'b');
    await expect(rig.library.add(other)).rejects.toMatchObject({
      code: 'name_taken',
      params: { name: 'echo:folder', path: join(rig.root, 'a') },
    });
    const named = await rig.library.add(other, ' 我的 Anna! ');
    expect(named).toMatchObject({ id: 'echo:我的-anna', name: '我的 Anna!', state: 'installed' });
    // The same folder under another name is renamed, not added again.
    await rig.library.add(other, 'Bert');
    await rig.library.refresh();
    expect(rig.library.installed().map(({ id }) => id)).toEqual(['echo:folder', 'echo:bert']);
    await expect(rig.library.add(echoFolder(rig.root, 'c'), 'bert')).rejects.toMatchObject({
      code: 'name_taken',
    });
    for (const name of ['', '  ', 'a\nb', 'x'.repeat(81)]) {
      await expect(rig.library.add(other, name)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('finds the branch main in the Hugging Face cache, else the newest snapshot', async () => {
    const repository = rig.huggingFaceCache(['aaa', 'bbb'], 'bbb\n');
    expect(await rig.library.add(repository)).toMatchObject({
      id: 'echo:bbb',
      folder: join(repository, 'snapshots', 'bbb'),
    });
    await rig.library.remove('echo:bbb');
    rmSync(join(repository, 'refs'), { recursive: true });
    utimesSync(join(repository, 'snapshots', 'bbb'), 1, 1);
    expect(await rig.library.add(join(repository, 'snapshots'))).toMatchObject({ id: 'echo:aaa' });
    expect(await rig.library.add(join(repository, 'snapshots', 'bbb', 'config.json'))).toMatchObject({
      id: 'echo:bbb',
    });
  });

  it('passes over a snapshot that was never completed', async () => {
    const repository = rig.huggingFaceCache(['aaa', 'bbb'], 'aaa');
    rmSync(join(repository, 'snapshots', 'aaa', 'model.safetensors'));
    expect(await rig.library.add(repository)).toMatchObject({ id: 'echo:bbb' });
    rmSync(join(repository, 'snapshots', 'bbb', 'model.safetensors'));
    await expect(rig.library.add(repository)).rejects.toMatchObject({
      code: 'checkpoint_missing',
      params: { file: 'model.safetensors' },
    });
  });

  it('takes the one model in a whole cache, and asks where there are several', async () => {
    const repository = rig.huggingFaceCache(['aaa']);
    expect(await rig.library.add(dirname(repository))).toMatchObject({ id: 'echo:aaa' });
    echoFolder(dirname(repository), 'Echo-0___6B');
    const error = await failure(rig.library.add(dirname(repository)));
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
    const folder = echoFolder(rig.root, 'm');
    spoil(folder);
    await expect(rig.library.add(folder)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
    await rig.library.refresh();
    expect(rig.library.installed()).toEqual([]);
    expect(existsSync(join(rig.home, 'models.json'))).toBe(false);
  });

  it.skipIf(process.platform === 'win32')(
    'is not caught in links that lead in circles, nor lost in huge folders',
    async () => {
      symlinkSync('b', join(rig.root, 'a'));
      symlinkSync('a', join(rig.root, 'b'));
      await expect(rig.library.add(join(rig.root, 'a'))).rejects.toMatchObject({ code: 'file_unreadable' });
      const huge = join(rig.root, 'huge');
      mkdirSync(huge);
      symlinkSync('.', join(huge, 'self'));
      for (let n = 0; n < 5000; n++) writeFileSync(join(huge, `file-${n}`), '');
      const begin = performance.now();
      await expect(rig.library.add(huge)).rejects.toMatchObject({ code: 'model_not_recognised' });
      expect(performance.now() - begin).toBeLessThan(10_000);
      await expect(rig.library.add('a\0b')).rejects.toMatchObject({ code: 'file_unreadable' });
      await expect(rig.library.add('/dev/null')).rejects.toMatchObject({ code: 'file_unreadable' });
    },
  );

  it('of many at once keeps every one', async () => {
    const folders = Array.from({ length: 12 }, (_, n) => echoFolder(rig.root, `m${n}`, { variant: `v${n}` }));
    const others = [rig.open(), rig.open(), rig.open()];
    await Promise.all(folders.map((folder, n) => others[n % 3]!.add(folder)));
    await rig.library.refresh();
    expect(
      rig.library
        .installed()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(folders.map((_, n) => `echo:v${n}`).sort());
  });
});

describe('finding', () => {
  it('whole models in the caches of other tools, once each, until they are added', async () => {
    const repository = rig.huggingFaceCache(['aaa']);
    const modelscope = join(rig.root, 'modelscope');
    const scoped = echoFolder(join(modelscope, 'hub', 'models', 'Owner'), 'Echo-0___6B', { variant: 'ms' });
    echoFolder(join(modelscope, 'hub', 'models', 'Owner'), 'cut', { variant: 'cut' });
    rmSync(join(modelscope, 'hub', 'models', 'Owner', 'cut', 'model.safetensors'));
    mkdirSync(join(dirname(repository), 'models--other--empty', 'snapshots'), { recursive: true });
    const caches = modelCaches({ HF_HUB_CACHE: dirname(repository), MODELSCOPE_CACHE: modelscope }, rig.root);
    rig.library = new ModelLibrary({ folder: rig.home, engines: testModelEngines, warn: () => {}, caches });
    const found = await rig.library.find();
    expect(found).toMatchObject([
      { site: 'huggingface', id: 'echo:aaa', folder: join(repository, 'snapshots', 'aaa') },
      { site: 'modelscope', id: 'echo:ms', folder: scoped, size_bytes: 42 },
    ]);
    for (const { folder } of found) await rig.library.add(folder);
    expect(await rig.library.find()).toEqual([]);
    expect(rig.warnings).toEqual([]);
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

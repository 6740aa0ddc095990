import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { echoFolder } from '../host/testing/echo-folder.ts';
import { LibraryRig } from '../host/testing/library-rig.ts';

const rig = new LibraryRig();

describe('what is listed', () => {
  it('has what could be installed, with its page, until it is', async () => {
    expect(await rig.entry('echo:folder')).toMatchObject({
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
    await rig.library.add(echoFolder(rig.root, 'm'), 'mine');
    await rig.library.refresh();
    expect(rig.library.entries().map(({ id, state }) => [id, state])).toEqual([['echo:mine', 'installed']]);
  });

  it('says what became of a folder, and takes it back where it is now', async () => {
    const folder = echoFolder(rig.root, 'm');
    await rig.library.add(folder);
    renameSync(join(folder, 'model.safetensors'), join(folder, 'x'));
    expect(await rig.entry('echo:folder')).toMatchObject({
      state: 'damaged',
      problems: [{ code: 'checkpoint_missing', params: { file: 'model.safetensors' } }],
    });
    expect(rig.library.installed()).toEqual([]);
    renameSync(join(folder, 'x'), join(folder, 'model.safetensors'));
    expect(await rig.entry('echo:folder')).toMatchObject({ state: 'installed' });
    const moved = join(rig.root, 'moved');
    renameSync(folder, moved);
    expect(await rig.entry('echo:folder')).toMatchObject({
      state: 'damaged',
      name: 'Echo from a folder',
      problems: [{ message: expect.stringMatching(/is gone/) }],
    });
    expect(await rig.library.add(moved)).toMatchObject({
      id: 'echo:folder',
      state: 'installed',
      folder: moved,
    });
    expect(rig.library.entries()).toHaveLength(1);
    writeFileSync(join(moved, 'config.json'), '{"engine": "other"}');
    expect(await rig.entry('echo:folder')).toMatchObject({ problems: [{ code: 'model_not_recognised' }] });
  });

  it('has a new version once a file changed', async () => {
    const folder = echoFolder(rig.root, 'm');
    await rig.library.add(folder);
    const [before] = rig.library.installed();
    await rig.library.refresh();
    expect(rig.library.installed()[0]!.version).toBe(before!.version);
    utimesSync(join(folder, 'model.safetensors'), 5, 5);
    await rig.library.refresh();
    expect(rig.library.installed()[0]!.version).not.toBe(before!.version);
  });

  it('keeps a model of an engine that this version does not have', async () => {
    await rig.library.add(echoFolder(rig.root, 'm'));
    rig.library = rig.open([]);
    expect(await rig.entry('echo:folder')).toMatchObject({ state: 'unknown_engine', problems: [] });
    expect(rig.library.installed()).toEqual([]);
    expect(JSON.parse(readFileSync(join(rig.home, 'models.json'), 'utf8')).models).toHaveLength(1);
  });

  it('names what is near where a model is unknown', async () => {
    await expect(rig.library.remove('echo:foldr')).rejects.toThrow(/Did you mean "echo:folder"/);
    await expect(rig.library.check('x'.repeat(500))).rejects.toMatchObject({ code: 'unknown_model' });
  });
});

describe('removing', () => {
  it('forgets, and leaves a folder that the studio did not make', async () => {
    const folder = echoFolder(rig.root, 'm');
    await rig.library.add(folder);
    expect(await rig.library.remove('echo:folder')).toEqual({
      model: 'echo:folder',
      folder,
      deleted_bytes: 0,
    });
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'model.safetensors']);
    expect(await rig.entry('echo:folder')).toMatchObject({ state: 'not_installed' });
    await expect(rig.library.remove('echo:folder')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('deletes what the studio fetched, and only below its own folder, whatever models.json says', async () => {
    const own = echoFolder(join(rig.home, 'models'), 'echo-folder');
    await rig.library.add(own);
    const claim = () => {
      const path = join(rig.home, 'models.json');
      const file = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(
        path,
        JSON.stringify({ ...file, models: file.models.map((model: object) => ({ ...model, owned: true })) }),
      );
    };
    claim();
    expect(await rig.library.remove('echo:folder')).toMatchObject({ deleted_bytes: 27 });
    expect(existsSync(own)).toBe(false);
    expect(existsSync(join(rig.home, 'models'))).toBe(true);
    const foreign = echoFolder(rig.root, 'foreign');
    symlinkSync(foreign, join(rig.home, 'models', 'link'));
    for (const path of [foreign, join(rig.home, 'models', 'link')]) {
      await rig.library.add(path);
      claim();
      expect(await rig.library.remove('echo:folder')).toMatchObject({ deleted_bytes: 0 });
      expect(existsSync(join(foreign, 'config.json'))).toBe(true);
    }
  });
});

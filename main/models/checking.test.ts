import { realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelCheckSchema } from '../contract/index.ts';
import { echoFolder, emptyCheckpoint } from '../host/testing/echo-folder.ts';
import { LibraryRig } from '../host/testing/library-rig.ts';

const rig = new LibraryRig();

describe('checking', () => {
  it('compares with the catalog’s hash, and finds one changed byte', async () => {
    const folder = echoFolder(rig.root, 'm');
    await rig.library.add(folder);
    const steps: number[] = [];
    const sound = await rig.library.check('echo:folder', {
      onProgress: (_, fraction) => steps.push(fraction),
    });
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
    expect(await rig.library.check('echo:folder')).toMatchObject({ ok: true });
    const longer = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]);
    writeFileSync(join(folder, 'model.safetensors'), longer);
    expect(await rig.library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{}, { state: 'damaged', error: { message: expect.stringMatching(/11 of 10 bytes/) } }],
    });
    rmSync(join(folder, 'model.safetensors'));
    expect(await rig.library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{ state: 'present' }, { path: 'model.safetensors', state: 'missing' }],
      problems: [],
    });
    rmSync(folder, { recursive: true });
    expect(await rig.library.check('echo:folder')).toMatchObject({
      ok: false,
      files: [{ state: 'missing' }, { state: 'missing' }],
    });
  });

  it('looks at the values of a model of the person’s own, of which no hash is known', async () => {
    const folder = echoFolder(rig.root, 'fine-tuned');
    const header = Buffer.from('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}');
    const write = (values: number[]) =>
      writeFileSync(
        join(folder, 'model.safetensors'),
        Buffer.concat([
          Buffer.from([header.length, 0, 0, 0, 0, 0, 0, 0]),
          header,
          Buffer.from(Float32Array.from(values).buffer),
        ]),
      );
    write([1, 2]);
    await rig.library.add(folder, 'tuned');
    expect(await rig.library.check('echo:tuned')).toMatchObject({
      ok: true,
      files: [{}, { state: 'present', error: null }],
    });
    write([1, Number.NaN]);
    expect(await rig.library.check('echo:tuned')).toMatchObject({
      ok: false,
      files: [
        {},
        { state: 'damaged', error: { code: 'weights_not_finite', params: { tensor: 'w', element: 1 } } },
      ],
    });
  });

  it('knows the hash of a file in the Hugging Face cache by its name', async () => {
    const repository = rig.huggingFaceCache(['aaa']);
    await rig.library.add(repository, 'cached');
    expect(await rig.library.check('echo:cached')).toMatchObject({
      ok: true,
      files: [{}, { state: 'verified' }],
    });
    const blob = realpathSync(join(repository, 'snapshots', 'aaa', 'model.safetensors'));
    writeFileSync(blob, Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]));
    expect(await rig.library.check('echo:cached')).toMatchObject({
      ok: false,
      files: [{}, { state: 'damaged', error: { message: expect.stringMatching(/has the hash/) } }],
    });
  });

  it('a fine-tuned model under a name of its own is not compared with the published one', async () => {
    const folder = echoFolder(rig.root, 'm');
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('{ }')]),
    );
    await rig.library.add(folder, 'tuned');
    expect(await rig.library.check('echo:tuned')).toMatchObject({
      ok: true,
      files: [{}, { state: 'present' }],
    });
  });

  it('stops when it is told to', async () => {
    await rig.library.add(echoFolder(rig.root, 'm'));
    const abort = new AbortController();
    abort.abort();
    await expect(rig.library.check('echo:folder', { signal: abort.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it('what is not installed is not checked', async () => {
    await expect(rig.library.check('echo:folder')).rejects.toMatchObject({
      code: 'model_not_installed',
      params: { repository: 'mizuoto/echo-folder' },
    });
  });
});

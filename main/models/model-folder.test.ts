import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileSign } from './file-signs.ts';
import { ModelFolder } from './model-folder.ts';

let path: string;
let folder: ModelFolder;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'mizuoto-folder-'));
  folder = new ModelFolder(path);
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array) => writeFileSync(join(path, name), content);

/** A checkpoint of one tensor of `bytes` bytes, of which `kept` are there. */
function checkpoint(bytes: number, kept = bytes): Uint8Array {
  const header = Buffer.from(
    JSON.stringify({ w: { dtype: 'U8', shape: [bytes], data_offsets: [0, bytes] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(kept)]);
}

const lfs = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1811626576\n';

describe('what is wrong with a file', () => {
  it.each<[string, string, string | Uint8Array, string, RegExp, string | null]>([
    ['an LFS pointer', 'model.safetensors', lfs, 'checkpoint_invalid', /Git LFS pointer/, 'lfs_pointer'],
    ['an LFS pointer', 'config.json', lfs, 'checkpoint_invalid', /Git LFS pointer/, 'lfs_pointer'],
    ['an LFS pointer', 'merges.txt', lfs, 'checkpoint_invalid', /git lfs pull/, 'lfs_pointer'],
    ['a page', 'model.safetensors', '<!DOCTYPE html><html>', 'checkpoint_invalid', /web page/, 'web_page'],
    ['a page', 'config.json', '\ufeff\n  <html lang="zh">', 'checkpoint_invalid', /web page/, 'web_page'],
    ['nothing', 'vocab.json', '', 'checkpoint_invalid', /is empty/, 'empty'],
    ['a cut one', 'model.safetensors', checkpoint(1000, 999), 'checkpoint_invalid', /cut off/, 'cut'],
    [
      'a cut header',
      'model.safetensors',
      checkpoint(1000).subarray(0, 30),
      'checkpoint_invalid',
      /cut off/,
      'cut',
    ],
    [
      'a pickle',
      'model.safetensors',
      Buffer.from('PK\x03\x04 and more'),
      'checkpoint_invalid',
      /pickle/,
      null,
    ],
    [
      'a pickle',
      'model.safetensors',
      Buffer.from([0x80, 2, ...Buffer.alloc(20)]),
      'checkpoint_invalid',
      /pickle/,
      null,
    ],
    ['a GGUF', 'model.safetensors', 'GGUF\x03\0\0\0......', 'checkpoint_invalid', /GGUF/, null],
    ['noise', 'model.safetensors', Buffer.alloc(64, 0xff), 'checkpoint_invalid', /not a safetensors/, null],
    ['text', 'config.json', 'hello', 'checkpoint_invalid', /not JSON/, null],
  ])('%s as %s', async (_, name, content, code, message, sign) => {
    put(name, content);
    const error = await folder.problem(name);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(error!.message).toContain(name);
    expect(error!.params).toMatchObject({ file: name, path });
    if (sign !== null) expect(error!.params[sign]).toBe(name);
  });

  it('nothing, where it is whole', async () => {
    put('model.safetensors', checkpoint(1000));
    put('config.json', ' {"a": 1}');
    put('merges.txt', '#version: 0.2\n< !');
    expect(await folder.problems(['model.safetensors', 'config.json', 'merges.txt'])).toEqual([]);
  });

  it('missing files are named, in order', async () => {
    put('config.json', '{}');
    const problems = await folder.problems([
      'config.json',
      'vocab.json',
      'speech_tokenizer/model.safetensors',
    ]);
    expect(problems.map(({ code, params }) => [code, params.file])).toEqual([
      ['checkpoint_missing', 'vocab.json'],
      ['checkpoint_missing', 'speech_tokenizer/model.safetensors'],
    ]);
  });

  it.skipIf(process.platform === 'win32')(
    'links in a circle, folders and pipes are errors, and nothing waits',
    async () => {
      symlinkSync('b.json', join(path, 'a.json'));
      symlinkSync('a.json', join(path, 'b.json'));
      mkdirSync(join(path, 'config.json'));
      spawnSync('mkfifo', [join(path, 'pipe.json')]);
      symlinkSync('gone', join(path, 'blob.json'));
      expect(await folder.problem('a.json')).toMatchObject({ message: expect.stringMatching(/circle/) });
      expect(await folder.problem('config.json')).toMatchObject({
        message: expect.stringMatching(/not a file/),
      });
      expect(await folder.problem('pipe.json')).toMatchObject({
        message: expect.stringMatching(/not a file/),
      });
      expect(await folder.problem('blob.json')).toMatchObject({ code: 'checkpoint_missing' });
      await expect(folder.json('pipe.json')).rejects.toMatchObject({ code: 'checkpoint_invalid' });
    },
  );

  it('of any bytes: an error of the contract or nothing, never an exception', async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      // A plausible length before anything.
      fc.tuple(fc.nat(400), fc.uint8Array({ maxLength: 300 })).map(([length, rest]) => {
        const head = Buffer.alloc(9);
        head.writeBigUInt64LE(BigInt(length));
        head[8] = 0x7b;
        return Buffer.concat([head, rest]);
      }),
    );
    await fc.assert(
      fc.asyncProperty(content, async (bytes) => {
        put('model.safetensors', bytes);
        const error = await folder.problem('model.safetensors');
        if (error !== null) expect(error.code).toBe('checkpoint_invalid');
      }),
      { numRuns: 200 },
    );
  });

  it('a sparse file of terabytes is looked at, not read', async () => {
    put('model.safetensors', checkpoint(1000));
    truncateSync(join(path, 'model.safetensors'), 2 ** 40);
    expect(await folder.problem('model.safetensors')).toBeNull();
    truncateSync(join(path, 'model.safetensors'), 0);
    truncateSync(join(path, 'model.safetensors'), 2 ** 40);
    expect(await folder.problem('model.safetensors')).toMatchObject({ code: 'checkpoint_invalid' });
    truncateSync(join(path, 'model.safetensors'), 0);
    put('config.json', '{');
    truncateSync(join(path, 'config.json'), 2 ** 33);
    await expect(folder.json('config.json')).rejects.toThrow(/too many/);
  });
});

describe('a checkpoint in parts', () => {
  it('is its index and the parts that it names', async () => {
    put(
      'model.safetensors.index.json',
      JSON.stringify({ weight_map: { a: 'b-2.safetensors', c: 'b-1.safetensors', d: 'b-2.safetensors' } }),
    );
    const files = await folder.checkpointFiles('model.safetensors');
    expect(files).toEqual(['model.safetensors.index.json', 'b-1.safetensors', 'b-2.safetensors']);
    expect((await folder.problems(files)).map(({ params }) => params.file)).toEqual(files.slice(1));
  });

  it('whole, or nothing at all, is named by its own name', async () => {
    expect(await folder.checkpointFiles('model.safetensors')).toEqual(['model.safetensors']);
    put('model.safetensors.index.json', '{}');
    put('model.safetensors', checkpoint(1));
    expect(await folder.checkpointFiles('model.safetensors')).toEqual(['model.safetensors']);
  });

  it.each([
    '{}',
    '{"weight_map": {}}',
    '{"weight_map": {"a": "../../secret"}}',
    '{"weight_map": {"a": 7}}',
    '[]',
    'x',
  ])('an index that is %s is refused', async (text) => {
    put('model.safetensors.index.json', text);
    await expect(folder.checkpointFiles('model.safetensors')).rejects.toMatchObject({
      code: 'checkpoint_invalid',
    });
  });
});

it('its version changes with every file, and with nothing else', async () => {
  put('a.json', '{}');
  put('b.json', '{}');
  const files = ['a.json', 'b.json', 'missing.json'];
  const first = await folder.measure(files);
  expect(first).toEqual(await folder.measure(files));
  expect(first.sizeBytes).toBe(4);
  utimesSync(join(path, 'b.json'), 1, 1);
  expect((await folder.measure(files)).version).not.toBe(first.version);
});

it('a sign is found whatever the name, and no text of a vocabulary is one', () => {
  expect(fileSign('x', Buffer.from(lfs), 100)?.sign).toBe('lfs_pointer');
  expect(fileSign('merges.txt', Buffer.from('<head> is a token'), 100)?.sign).toBe('web_page');
  expect(fileSign('merges.txt', Buffer.from('<s> a\n'), 100)).toBeNull();
});

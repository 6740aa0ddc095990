import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AtomicFile, writeFileAtomic } from './atomic-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'mizuoto-atomic-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const bytes = (text: string) => new TextEncoder().encode(text);
const inFolder = (name: string) => path.join(folder, name);

describe('writeFileAtomic', () => {
  test('writes pieces in order and leaves nothing beside the file', async () => {
    async function* pieces() {
      yield bytes('one ');
      yield bytes('two');
    }
    expect(await writeFileAtomic(inFolder('a.bin'), pieces())).toBe(7);
    expect(readFileSync(inFolder('a.bin'), 'utf8')).toBe('one two');
    expect(readdirSync(folder)).toEqual(['a.bin']);
  });

  test('replaces an existing file, keeps its mode and follows a link to it', async () => {
    writeFileSync(inFolder('real'), 'old');
    chmodSync(inFolder('real'), 0o640);
    symlinkSync(inFolder('real'), inFolder('link'));
    await writeFileAtomic(inFolder('link'), bytes('new'));
    expect(readFileSync(inFolder('real'), 'utf8')).toBe('new');
    expect(statSync(inFolder('real')).mode & 0o777).toBe(0o640);
    expect(lstatSync(inFolder('link')).isSymbolicLink()).toBe(true);
  });

  test('a failure on the way keeps the old file and removes the new one', async () => {
    writeFileSync(inFolder('a'), 'old');
    async function* broken() {
      yield bytes('half');
      throw new Error('the source broke');
    }
    await expect(writeFileAtomic(inFolder('a'), broken())).rejects.toThrow('the source broke');
    expect(readFileSync(inFolder('a'), 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['a']);
  });

  test.each([
    ['a folder that does not exist', 'none/a.wav', 'does not exist'],
    ['a folder', '.', 'is a folder'],
    ['a path through a file', 'file/a.wav', 'not a folder'],
    ['a name with NUL', 'a\0.wav', 'no file name can have'],
  ])('%s is output_not_writable', async (_, name, reason) => {
    writeFileSync(inFolder('file'), '');
    const attempt = writeFileAtomic(inFolder(name), bytes('x'));
    await expect(attempt).rejects.toMatchObject({ code: 'output_not_writable' });
    await expect(attempt).rejects.toThrow(reason);
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('the longest possible name works', async () => {
    const name = `${'n'.repeat(251)}.wav`;
    await writeFileAtomic(inFolder(name), bytes('x'));
    expect(readdirSync(folder)).toEqual([name]);
  });

  test.runIf(process.platform === 'linux')('a device is written directly and stays a device', async () => {
    expect(await writeFileAtomic('/dev/null', bytes('gone'))).toBe(4);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    await expect(writeFileAtomic('/dev/full', bytes('x'))).rejects.toMatchObject({ code: 'disk_full' });
    expect(statSync('/dev/full').isCharacterDevice()).toBe(true);
  });

  test.runIf(process.platform !== 'win32')('a file size limit is disk_full and leaves nothing', async () => {
    // `ulimit -f` makes the kernel refuse to grow the file, as a full disk does.
    const module = path.join(import.meta.dirname, 'atomic-file.ts');
    const script = `
      process.on('SIGXFSZ', () => {});
      const { writeFileAtomic } = await import(${JSON.stringify(module)});
      try { await writeFileAtomic(process.argv[1], new Uint8Array(3_000_000)); console.log('written'); }
      catch (error) { console.log(error.code); }`;
    const bundled = bundle(script);
    const output = execFileSync(
      'sh',
      ['-c', 'ulimit -f 1000; exec "$0" "$@"', process.execPath, bundled, inFolder('big')],
      {
        encoding: 'utf8',
      },
    );
    expect(output.trim()).toBe('disk_full');
    expect(readdirSync(folder)).toEqual(['bundle.mjs']);
  });

  test('many writers of one file, in two processes: one whole content wins', async () => {
    const module = path.join(import.meta.dirname, 'atomic-file.ts');
    const bundled = bundle(`
      const { writeFileAtomic } = await import(${JSON.stringify(module)});
      for (let i = 0; i < 20; i++) await writeFileAtomic(process.argv[2], new Uint8Array(100_000).fill(66));`);
    mkdirSync(inFolder('out'));
    const target = path.join(folder, 'out', 'x');
    const child = spawn(process.execPath, [bundled, target], { stdio: 'inherit' });
    const exit = new Promise((resolve) => child.on('exit', resolve));
    for (let i = 0; i < 20; i++) await writeFileAtomic(target, new Uint8Array(70_000).fill(65));
    expect(await exit).toBe(0);
    const content = readFileSync(target);
    expect(new Set(content).size).toBe(1);
    expect([70_000, 100_000]).toContain(content.length);
    expect(readdirSync(path.dirname(target))).toEqual(['x']);
  });
});

describe('AtomicFile', () => {
  test('patches and reads back what was appended', async () => {
    const file = await AtomicFile.create(inFolder('a'));
    await file.append(bytes('....tail'));
    await file.patch(0, bytes('HEAD'));
    expect(await file.read(2, 4)).toEqual(bytes('ADta'));
    expect(readdirSync(folder)).not.toContain('a');
    await file.commit();
    expect(readFileSync(inFolder('a'), 'utf8')).toBe('HEADtail');
    await file.abort();
    expect(readdirSync(folder)).toEqual(['a']);
  });

  test('abort removes the temporary file; later writes are refused', async () => {
    const file = await AtomicFile.create(inFolder('a'));
    await file.append(bytes('x'));
    await file.abort();
    expect(readdirSync(folder)).toEqual([]);
    await expect(file.append(bytes('y'))).rejects.toThrow('closed');
  });
});

/** TypeScript is bundled for plain Node, as the build does. */
function bundle(script: string): string {
  const outfile = inFolder('bundle.mjs');
  buildSync({
    stdin: { contents: script, resolveDir: import.meta.dirname },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
  return outfile;
}

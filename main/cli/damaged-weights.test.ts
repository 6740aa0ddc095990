import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readWav } from '../audio/wav.ts';
import { bundleForTest, type TestBundle } from '../host/testing/bundle.ts';
import { start } from './testing/process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

let bundle: TestBundle;
/** An installation of its own, whose voice may be damaged. */
let installation: string;
let voice: string;
let work: string;

beforeAll(async () => {
  bundle = await bundleForTest(['cli', 'host-worker']);
  installation = mkdtempSync(join(tmpdir(), 'mizuoto-installation-'));
  voice = join(installation, 'app', 'resources', 'mini-voice');
  work = join(installation, 'work');
  cpSync(bundle.folder, join(installation, 'dist', 'main'), { recursive: true });
  mkdirSync(join(installation, 'main', 'text'), { recursive: true });
  symlinkSync(join(root, 'main', 'text', 'assets'), join(installation, 'main', 'text', 'assets'), 'dir');
  mkdirSync(work);
});
afterAll(() => {
  bundle.remove();
  rmSync(installation, { recursive: true, force: true });
});
beforeEach(() => {
  rmSync(voice, { recursive: true, force: true });
  mkdirSync(voice, { recursive: true });
  for (const name of readdirSync(join(root, 'app', 'resources', 'mini-voice'), { withFileTypes: true })) {
    if (name.isFile())
      cpSync(join(root, 'app', 'resources', 'mini-voice', name.name), join(voice, name.name));
  }
});

const weights = () => join(voice, 'acoustic.safetensors');
const say = (...args: string[]) =>
  start(join(installation, 'dist', 'main', 'cli.mjs'), ['say', 'Hello.', '--out', 'a.wav', ...args], {
    cwd: work,
    env: { MIZUOTO_TEST_ENGINES: '', MIZUOTO_NATIVE_DIR: join(root, 'native', 'out') },
  }).outcome;

it('the undamaged voice speaks', async () => {
  const { exit, stderr } = await say();
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const { samples, seconds } = await readWav(readFileSync(join(work, 'a.wav')));
  expect(seconds).toBeGreaterThan(0.3);
  expect(samples[0]!.some((sample) => Math.abs(sample) > 0.05)).toBe(true);
  rmSync(join(work, 'a.wav'));
});

/** Sets the first weight of the file to NaN, in f16 or f32. */
function poison(path: string): void {
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >;
  const [, first] = Object.entries(header).find(
    ([name, { dtype }]) => name !== '__metadata__' && /^F(16|32)$/.test(dtype),
  )!;
  const at = 8 + length + first.data_offsets[0];
  if (first.dtype === 'F16') bytes.writeUInt16LE(0x7e00, at);
  else bytes.writeUInt32LE(0x7fc00000, at);
  writeFileSync(path, bytes);
}

const lfs = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5258752\n';

it.each<[string, () => void, number, RegExp]>([
  ['missing', () => rmSync(voice, { recursive: true }), 6, /checkpoint_missing/],
  ['without its weights', () => rmSync(weights()), 6, /acoustic\.safetensors.*checkpoint_missing/],
  ['truncated', () => truncateSync(weights(), 100_000), 6, /acoustic\.safetensors.*checkpoint_invalid/],
  ['empty', () => truncateSync(weights(), 0), 6, /acoustic\.safetensors.*checkpoint_invalid/],
  [
    'a web page',
    () => writeFileSync(weights(), '<!DOCTYPE html><html>Not found</html>'),
    6,
    /checkpoint_invalid/,
  ],
  ['a pointer of Git LFS', () => writeFileSync(weights(), lfs), 6, /checkpoint_invalid/],
  ['noise', () => writeFileSync(weights(), Buffer.alloc(50_000, 0xa7)), 6, /checkpoint_invalid/],
  ['a folder', () => [rmSync(weights()), mkdirSync(weights())], 6, /checkpoint_invalid/],
  [
    'of another network',
    () => cpSync(join(voice, 'vocoder.safetensors'), weights()),
    6,
    /checkpoint_mismatch/,
  ],
  ['not a number', () => poison(weights()), 6, /weights_not_finite/],
])('a voice that is %s is one clear sentence', async (_what, damage, code, message) => {
  damage();
  const { exit, stdout, stderr } = await say();
  expect(stderr).toMatch(/^mizuoto: [^\n]+ \([a-z_]+\)\n$/);
  expect(stderr).toMatch(message);
  expect(exit).toBe(code);
  expect(stdout.length).toBe(0);
  // Not a file, not even a temporary one.
  expect(readdirSync(work)).toEqual([]);
});

it('a missing native core says what to run', async () => {
  const { exit, stderr } = await start(
    join(installation, 'dist', 'main', 'cli.mjs'),
    ['say', 'Hello.', '--out', 'a.wav'],
    {
      cwd: work,
      env: { MIZUOTO_TEST_ENGINES: '', MIZUOTO_NATIVE_DIR: work },
    },
  ).outcome;
  expect(stderr).toMatch(/^mizuoto: [^\n]+ \(backend_missing\)\n$/);
  expect(exit).toBe(7);
});

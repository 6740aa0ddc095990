import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JobAudio } from './audio-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-audio-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ramp = (from: number, length: number) => Float32Array.from({ length }, (_, n) => (from + n) / 2 ** 20);

async function all(audio: JobAudio): Promise<Float32Array> {
  const out = new Float32Array(audio.samples);
  let at = 0;
  for await (const block of audio.read()) {
    out.set(block, at);
    at += block.length;
  }
  expect(at).toBe(audio.samples);
  return out;
}

it('short audio stays in memory and touches no disk', async () => {
  const audio = new JobAudio(16000, join(folder, 'spill'), 1000);
  const first = ramp(0, 400);
  await audio.append(first);
  first.fill(9);
  await audio.append(ramp(400, 600));
  expect(audio.spilled).toBe(false);
  expect(await all(audio)).toEqual(ramp(0, 1000));
  expect(readdirSync(folder)).toEqual([]);
});

it('long audio moves to a file without a name and comes back to the bit', async () => {
  const audio = new JobAudio(16000, join(folder, 'spill'), 1000);
  const pieces = [700, 299, 1, 1, 200_000, 5];
  let from = 0;
  const appended = pieces.map((length) => {
    const done = audio.append(ramp(from, length));
    from += length;
    return done;
  });
  await Promise.all(appended);
  expect(audio.spilled).toBe(true);
  expect(await all(audio)).toEqual(ramp(0, from));
  if (process.platform !== 'win32') expect(readdirSync(join(folder, 'spill'))).toEqual([]);
  const path = join(folder, 'out.wav');
  const bytes = await audio.export(path, 'pcm24');
  const streamed: Uint8Array[] = [];
  for await (const piece of audio.wav('pcm24')) streamed.push(piece);
  expect(Buffer.concat(streamed).equals(readFileSync(path))).toBe(true);
  expect(bytes).toBe(44 + from * 3 + (from % 2));
  await audio.dispose();
  expect(audio.spilled).toBe(false);
});

it('removes what an ended process left behind, and nothing else', async () => {
  const spill = join(folder, 'spill');
  const names = [`999999999-${'0'.repeat(16)}.f32`, `1-${'0'.repeat(16)}.f32`, 'notes.txt'];
  mkdirSync(spill);
  for (const name of names) writeFileSync(join(spill, name), '');
  const audio = new JobAudio(16000, spill, 0);
  await audio.append(ramp(0, 10));
  const left = readdirSync(spill);
  expect(left).toContain(names[1]);
  expect(left).toContain('notes.txt');
  expect(left).not.toContain(names[0]);
  await audio.dispose();
});

it('says where the disk is full or closed', async () => {
  writeFileSync(join(folder, 'plain'), '');
  const audio = new JobAudio(16000, join(folder, 'plain'), 0);
  await expect(audio.append(ramp(0, 10))).rejects.toMatchObject({
    code: 'output_not_writable',
    message: expect.stringContaining(join(folder, 'plain')),
  });
  await audio.dispose();
});

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Calibration } from './calibration.ts';
import { MiB } from './policy.ts';

const gpu = 'vulkan/Some GPU/driver 1';
let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'mizuoto-calibration-'));
  file = path.join(folder, 'memory', 'calibration.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('working memory', () => {
  it('above the estimate, the next reservation grows at once, by a tenth more, at most sixteenfold', () => {
    const calibration = Calibration.inMemory();
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(100 * MiB);
    expect(calibration.measured(gpu, 'engine:talker', 'talker', 100 * MiB, 150 * MiB)).toBe(true);
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(165 * MiB);
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 10 * MiB)).toBe(16.5 * MiB);
    calibration.measured(gpu, 'engine:talker', 'talker', MiB, 100 * MiB);
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(1600 * MiB);
    // Another component, another device: nothing is known.
    expect(calibration.reserve(gpu, 'engine:codec', 'codec', 100 * MiB)).toBe(100 * MiB);
    expect(calibration.reserve('cuda/x/1', 'engine:talker', 'talker', 100 * MiB)).toBe(100 * MiB);
  });

  it('below it, the reservation shrinks after three requests of that size, and only for that size', () => {
    const calibration = Calibration.inMemory();
    for (const bytes of [300, 280, 310]) {
      expect(calibration.reserve(gpu, 'helper:main', 'helper', 1080 * MiB)).toBe(1080 * MiB);
      expect(calibration.measured(gpu, 'helper:main', 'helper', 1080 * MiB, bytes * MiB)).toBe(false);
    }
    expect(calibration.reserve(gpu, 'helper:main', 'helper', 1080 * MiB)).toBe(Math.ceil(341 * MiB));
    expect(calibration.reserve(gpu, 'helper:main', 'helper', 4000 * MiB)).toBe(4000 * MiB);
    expect(calibration.stage(gpu, 'helper:main')).toMatchObject({ state: 'calibrated', runs: 3 });
  });

  it('estimates below 64 KiB teach nothing, so that padding of small buffers multiplies no large reservation', () => {
    const calibration = Calibration.inMemory();
    const small = 64 * 1024 - 1;
    expect(calibration.wantsMeasuring(gpu, 'engine:talker', 'talker', small)).toBe(false);
    expect(calibration.measured(gpu, 'engine:talker', 'talker', small, 16 * small)).toBe(false);
    expect(calibration.refused(gpu, 'engine:talker', small, 16 * small)).toBe(false);
    expect(calibration.stage(gpu, 'engine:talker')).toMatchObject({ state: 'none', runs: 0 });
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(100 * MiB);
    // From there on it is learned, and what small ones are reserved stays what they say.
    expect(calibration.measured(gpu, 'engine:talker', 'talker', small + 1, 2 * (small + 1))).toBe(true);
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(Math.ceil(100 * MiB * 2.2));
    expect(calibration.reserve(gpu, 'engine:talker', 'talker', small)).toBe(small);
  });

  it('grows after a refusal by what was missing and half of it, until a run that ends says what it takes', async () => {
    const calibration = await Calibration.open({ file });
    const [key, stage, estimate] = ['engine:codec', 'codec', 100 * MiB] as const;
    expect(calibration.refused(gpu, key, estimate, 200 * MiB)).toBe(true);
    expect(calibration.reserve(gpu, key, stage, estimate)).toBe(330 * MiB);
    expect(calibration.refused(gpu, key, estimate, 150 * MiB)).toBe(false);
    expect(calibration.wantsMeasuring(gpu, key, stage, estimate)).toBe(true);
    expect(calibration.stage(gpu, key).runs).toBe(0);
    await calibration.flush();
    const later = await Calibration.open({ file });
    expect(later.reserve(gpu, key, stage, estimate)).toBe(330 * MiB);
    later.measured(gpu, key, stage, estimate, 240 * MiB);
    expect(later.reserve(gpu, key, stage, estimate)).toBe(264 * MiB);
    // A run that took less may have had a driver that gives less than it reports: the room stays.
    later.measured(gpu, key, stage, estimate, 50 * MiB);
    expect(later.reserve(gpu, key, stage, estimate)).toBe(264 * MiB);
    expect(later.refused(gpu, key, estimate, 10_000 * MiB)).toBe(true);
    expect(later.reserve(gpu, key, stage, estimate)).toBe(1600 * MiB);
    expect(later.refused(gpu, key, 1024, 10_000 * MiB)).toBe(false);
  });

  it('a measurement of another driver on the same hardware is stale', () => {
    const calibration = Calibration.inMemory();
    calibration.measured(gpu, 'engine:talker', 'talker', 100 * MiB, 150 * MiB);
    expect(calibration.stage('vulkan/Some GPU/driver 2', 'engine:talker').state).toBe('stale');
    expect(calibration.stage('vulkan/Other GPU/driver 1', 'engine:talker').state).toBe('none');
  });
});

describe('a stage that goes on in later ones', () => {
  it('is never reserved less because some of them took less; more, as any other', async () => {
    const calibration = await Calibration.open({ file });
    const reserved = (goesOn: boolean) =>
      calibration.reserve(gpu, 'engine:talker', 'talker', 100 * MiB, goesOn);
    for (let run = 0; run < 4; run++) calibration.measured(gpu, 'engine:talker', 'talker', 100 * MiB, MiB);
    expect(reserved(false)).toBeLessThan(2 * MiB);
    expect(reserved(true)).toBe(100 * MiB);
    calibration.measured(gpu, 'engine:talker', 'talker', 100 * MiB, 150 * MiB);
    expect(reserved(true)).toBe(reserved(false));
    expect(reserved(true)).toBeGreaterThan(150 * MiB);
  });
});

describe('calibration.json', () => {
  it('is written whole and read again', async () => {
    const first = await Calibration.open({ file });
    first.measured(gpu, 'engine:talker', 'talker', 100 * MiB, 200 * MiB);
    first.noteCopyRate(gpu, 12_345);
    first.noteUnitTimes(gpu, 'engine:talker', [1, 2, 3], [0.1, 0.2, 0.3]);
    await first.flush();
    expect(JSON.parse(await readFile(file, 'utf8')).version).toBe(2);
    expect(await readdir(path.dirname(file))).toEqual(['calibration.json']);
    const second = await Calibration.open({ file });
    expect(second.reserve(gpu, 'engine:talker', 'talker', 100 * MiB)).toBe(
      first.reserve(gpu, 'engine:talker', 'talker', 100 * MiB),
    );
    expect(second.copyRate(gpu)).toBe(12_345);
    expect(second.unitTimes(gpu, 'engine:talker', [1, 2, 3])).toEqual([0.1, 0.2, 0.3]);
    // Other sizes: another model under the same name.
    expect(second.unitTimes(gpu, 'engine:talker', [1, 2, 4])).toBeNull();
  });

  it.each([
    ['damaged', '{"version": 2, "devices": {'],
    ['of another version', '{"version": 1, "devices": {}}'],
    ['of another program', '[1, 2, 3]'],
    ['with numbers that are none', '{"version": 2, "devices": {"a": {"copy_rate": "fast"}}}'],
    ['empty', ''],
  ])('%s: one warning, and measuring starts anew', async (_, text) => {
    const warnings: string[] = [];
    await Calibration.open({ file }).then((calibration) => calibration.flush());
    await writeFile(path.join(folder, 'x'), '');
    const { mkdir } = await import('node:fs/promises');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
    const calibration = await Calibration.open({ file, warn: ({ message }) => warnings.push(message) });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(file);
    calibration.measured(gpu, 'engine:talker', 'talker', 100 * MiB, 200 * MiB);
    await calibration.flush();
    expect((await Calibration.open({ file })).stage(gpu, 'engine:talker').runs).toBe(1);
  });

  it('a folder that cannot be written is a warning, not a failure', async () => {
    const warnings: string[] = [];
    const blocked = path.join(folder, 'file', 'memory', 'calibration.json');
    await writeFile(path.join(folder, 'file'), 'in the way');
    const calibration = await Calibration.open({
      file: blocked,
      warn: ({ message }) => warnings.push(message),
    });
    calibration.noteCopyRate(gpu, 1);
    await calibration.flush();
    expect(warnings.join(' ')).toContain('could not be saved');
  });
});

describe('pinned memory', () => {
  it('is worth it where copies from it were measured to be faster; unknown until both kinds were seen', async () => {
    const calibration = await Calibration.open({ file });
    expect(calibration.pinningHelps(gpu)).toBeNull();
    calibration.noteSourceRate(gpu, true, 12_000);
    expect(calibration.pinningHelps(gpu)).toBeNull();
    calibration.noteSourceRate(gpu, false, 6000);
    expect(calibration.pinningHelps(gpu)).toBe(true);
    calibration.noteSourceRate(gpu, false, 11_900);
    expect(calibration.pinningHelps(gpu)).toBe(false);
    expect(calibration.pinningHelps('cuda/x/1')).toBeNull();
    await calibration.flush();
    expect((await Calibration.open({ file })).pinningHelps(gpu)).toBe(false);
  });
});

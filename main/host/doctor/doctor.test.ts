import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nativeError } from '../../../native/load.ts';
import { zhFindings } from '../../cli/findings.zh-CN.ts';
import { doctorReportSchema, findingIds, StudioError, say } from '../../contract/index.ts';
import { SettingsStore } from '../../settings/store.ts';
import type { RuntimeView, SpeechBackend } from '../backend.ts';
import { ToneBackend } from '../testing/tone-engine.ts';
import { diagnose } from './doctor.ts';
import { findingSentences } from './sentences.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

class IllBackend extends ToneBackend {
  override view(): RuntimeView {
    const view = super.view();
    const gigabyte = 1024 ** 3;
    const card = { ...view.devices[0]!, id: 'Vulkan0', kind: 'gpu' as const, used: true };
    const full = { total_bytes: 8 * gigabyte, free_bytes: gigabyte, others_bytes: 7 * gigabyte };
    return {
      ...view,
      devices: [
        { ...card, ...full },
        { ...card, id: 'Vulkan1', used: false },
      ],
      host: { ...view.host, reserve_bytes: 2 * view.host.available_bytes },
    };
  }
  override async tryEngines() {
    const error = new StudioError('checkpoint_missing', 'A file of the voice is missing.').toBody();
    return [{ engine: 'tone', name: 'Tone', bytes: 0, seconds: 0, error }];
  }
  override async selfTest() {
    const numbers = { largest_difference: 0.5, identical: false, copy_mb_per_second: 1 };
    const offers = { async: true, host_buffers: false, host_pointer: false, events: false };
    const capabilities = { ...offers, dtypes: ['f32', 'f16'] };
    const wrong = { passed: false, ...numbers, capabilities };
    return ['Vulkan0', 'Vulkan1'].map((device) => ({ device, ...wrong, seconds: 1, error: null }));
  }
}

const run = (open: () => Promise<SpeechBackend>, cacheFolder = join(folder, 'cache')) =>
  diagnose({
    settings: new SettingsStore({ folder, warn: () => {} }),
    configFolder: folder,
    cacheFolder,
    open,
  });

it('a sound installation: nothing failed, nothing is left behind', async () => {
  const report = await run(async () => new ToneBackend());
  expect(doctorReportSchema.parse(report)).toEqual(report);
  expect(report.ok).toBe(true);
  expect(report.findings.map(({ status }) => status)).not.toContain('failed');
  expect(report.policy).toHaveProperty(['compute.vram_mode']);
  expect(readdirSync(folder)).toEqual(['cache']);
  expect(readdirSync(join(folder, 'cache'))).toEqual([]);
});

it('what was warned of its files is found, each once, and said in a way that every language has', async () => {
  const unsaved = say('calibration_unsaved', { path: '/c.json', reason: 'the disk is full' });
  const report = await diagnose({
    settings: new SettingsStore({ folder, warn: () => {} }),
    configFolder: folder,
    cacheFolder: join(folder, 'cache'),
    open: async () => new ToneBackend(),
    warned: () => [unsaved, say('voice_left_out', {}), say('settings_near_key', {})],
  });
  expect(doctorReportSchema.parse(report)).toEqual(report);
  const found = report.findings.filter(({ said }) => said !== undefined);
  expect(found).toEqual([
    expect.objectContaining({
      id: 'file_problem',
      status: 'warning',
      message: unsaved.message,
      said: unsaved,
    }),
  ]);
  expect(report.ok).toBe(true);
});

it('everything that is wrong is found, with its numbers, and the broken comes first among the fixes', async () => {
  writeFileSync(join(folder, 'file'), '');
  const report = await run(async () => new IllBackend(), join(folder, 'file'));
  expect(report.ok).toBe(false);
  const found = report.findings.map(({ id, status }) => `${status} ${id}`);
  expect(found).toEqual(
    expect.arrayContaining([
      'failed folder_unwritable',
      'failed engine_broken',
      'failed self_test_wrong',
      'warning self_test_wrong',
      'warning ram_short',
      'warning device_full',
      'note no_overlap',
      'note no_pinned_memory',
      'note no_half_type',
    ]),
  );
  expect(found).not.toContain('note not_in_place');
  const half = report.findings.find(({ id }) => id === 'no_half_type');
  expect(half?.message).toBe(
    'Vulkan0 does not multiply with bf16: such weights take the next wider type that it has.',
  );
  const full = report.findings.find(({ id }) => id === 'device_full');
  expect(full?.message).toBe('Other programs hold 7168 of the 8192 MiB of Vulkan0; 1024 are free.');
  expect(report.findings.map(({ message }) => message).join(' ')).not.toMatch(/\{\w+\}|undefined/);
  const failures = report.findings.filter(({ status }) => status === 'failed').map(({ fix }) => fix);
  expect(report.fixes.slice(0, failures.length)).toEqual(failures);
});

it('without the native core everything else is still checked', async () => {
  const report = await run(async () => {
    throw nativeError('BackendMissing', 'The native core is not built.');
  });
  expect(report.ok).toBe(false);
  expect(report.findings[0]).toMatchObject({ id: 'core_broken', error: { code: 'backend_missing' } });
  expect(report.findings.map(({ id }) => id)).toContain('settings_ok');
  expect(report.fixes).toEqual([findingSentences.core_broken.fix]);
  expect(report.versions.ggml).toBeNull();
});

it('both languages have the same findings with the same places', () => {
  const places = (text: string | null) =>
    [...(text ?? '').matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  for (const id of findingIds) {
    const [english, chinese] = [findingSentences[id], zhFindings[id]];
    expect(places(chinese.message), id).toEqual(places(english.message));
    expect(places(chinese.fix), id).toEqual(places(english.fix));
    expect(chinese.message, id).toMatch(/\p{Script=Han}/u);
  }
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Said, type SaidCode, StudioError, saidSchema, sayOfError } from '../contract/index.ts';
import { sentencesEn } from '../contract/sentences.en.ts';
import { Calibration } from '../memory/calibration.ts';
import { ModelStore } from '../models/model-store.ts';
import { SettingsStore } from '../settings/store.ts';
import { VoiceStore } from '../voices/voice-store.ts';
import { Messages } from './messages.ts';

let folder: string;
let heard: Said[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-warnings-'));
  heard = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const warn = (said: Said) => void heard.push(said);
const put = (name: string, content: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
};
const settings = (content: object | string) => () => {
  put('settings.json', typeof content === 'string' ? content : JSON.stringify(content));
  new SettingsStore({ folder, warn });
};
const models = (content: object | string) => () => {
  put('models.json', typeof content === 'string' ? content : JSON.stringify(content));
  new ModelStore(folder, warn).list();
};
const calibrationFile = 'memory/calibration.json';
const calibration = async () => {
  const made = await Calibration.open({ file: join(folder, calibrationFile), warn });
  made.noteCopyRate('device', 1);
  await made.flush();
};
const big = { compute: 2 ** 40 };

/** What provokes it, and what the Chinese sentence has to say beside the file's name. */
const cases: [SaidCode, () => unknown, RegExp][] = [
  ['settings_unknown_key', settings({ 'later.key': 1 }), /later\.key 不是设置项，已忽略/],
  ['settings_near_key', settings({ 'compute.vram_mod': 'low' }), /是不是 compute\.vram_mode？/],
  [
    'settings_bad_value',
    settings({ 'compute.threads': 'many' }),
    /compute\.threads 不能是 "many"，可以是：1 到 512 的整数、null。已改用默认值。$/,
  ],
  [
    'settings_contradict',
    settings({ 'compute.vram_mode': 'high', 'compute.vram_limit_mb': 1 }),
    /compute\.vram_limit_mb（1 MiB）.*compute\.vram_reserve_mb.*已改用默认的显存策略。$/,
  ],
  [
    'settings_contradict',
    settings({ 'compute.max_pinned_mb': big.compute }),
    /1099511627776 MiB 锁页内存.*compute\.max_pinned_mb/,
  ],
  [
    'settings_contradict',
    settings({ 'compute.ram_reserve_mb': big.compute }),
    /保留 1099511627776 MiB 内存.*compute\.ram_reserve_mb/,
  ],
  [
    'settings_contradict',
    settings({ 'compute.simulate_vram_mb': 64, 'compute.vram_limit_mb': 100 }),
    /100 MiB 的上限.*模拟设备的 64 MiB/,
  ],
  [
    'settings_contradict',
    settings({ 'compute.simulate_vram_mb': 64, 'compute.device': 'Vulkan0' }),
    /compute\.device 是 Vulkan0/,
  ],
  ['settings_kept_aside', settings('{'), /（不是 JSON）.*settings\.json\.bak/],
  ['settings_kept_aside', settings('[1]'), /（不是 JSON 对象）/],
  ['settings_kept_aside', settings(`{"a": "${'x'.repeat(1024 * 1024)}"}`), /（超过 1 MiB）/],
  ['models_newer', models({ version: 9, models: [] }), /更新版本的 Mizuoto/],
  ['models_left_out', models({ version: 1, models: [7, {}] }), /有 2 项无法读取/],
  ['models_kept_aside', models('no'), /不是模型列表（不是 JSON）.*models\.json\.bak.*请重新添加模型/],
  ['models_kept_aside', models({ version: 1 }), /（其中没有“models”列表）/],
  [
    'models_unreadable',
    () => {
      mkdirSync(join(folder, 'models.json'));
      new ModelStore(folder, warn).list();
    },
    /无法读取 .*（那是文件夹，不是文件）.*请检查它的权限/,
  ],
  [
    'voice_left_out',
    () => {
      put('voices/broken/voice.json', '{');
      return new VoiceStore(folder, warn).list();
    },
    /不是音色（voice\.json 不是 JSON）/,
  ],
  [
    'calibration_damaged',
    () => {
      put(calibrationFile, '{"version": 1}');
      return calibration();
    },
    /校准数据已损坏或属于其他版本/,
  ],
  [
    'calibration_unreadable',
    () => {
      mkdirSync(join(folder, calibrationFile), { recursive: true });
      return calibration();
    },
    /（那是文件夹，不是文件），将重新测量/,
  ],
  [
    'calibration_unsaved',
    () => {
      put('memory', 'in the way');
      return calibration();
    },
    /无法保存到 .*：路径中有一段是文件，不是文件夹。/,
  ],
];

const english = /(?<![\w./])[a-z]{2,} [a-z]{2,} [a-z]{2,}/i;

it.each(cases)('%s %#', async (code, provoke, says) => {
  await provoke();
  const said = heard.find((one) => one.code === code);
  expect(said, JSON.stringify(heard)).toBeDefined();
  // As it crosses the port.
  const received = saidSchema.parse(JSON.parse(JSON.stringify(said)));
  expect(new Messages('en').said(received)).toBe(said!.message);
  expect(said!.message).toContain(folder);
  const chinese = new Messages('zh-CN').said(received);
  expect(chinese).toMatch(says);
  expect(chinese).toContain(folder);
  expect(chinese.replaceAll(folder, '')).not.toMatch(english);
  expect(chinese).not.toMatch(/\p{Script=Han}[,;:?!()]|[,;?!()]\p{Script=Han}/u);
});

it('every warning of the stores is provoked above, or needs what no test can do', () => {
  const stores = (Object.keys(sentencesEn) as SaidCode[]).filter((code) =>
    /^(settings|models|voice|calibration)_/.test(code),
  );
  const elsewhere: SaidCode[] = ['settings_unreadable', 'settings_not_applied', 'voice_language'];
  expect([...new Set(cases.map(([code]) => code)), ...elsewhere].sort()).toEqual(stores.sort());
});

it('settings that could not be applied say the error’s own sentence', () => {
  const error = new StudioError('device_not_found', 'There is no device "X".', {
    params: { device: 'X', known: 'CPU, Vulkan0' },
  });
  const said = sayOfError('settings_not_applied', error.toBody());
  expect(said.message).toBe('The settings were kept but not applied: There is no device "X".');
  expect(new Messages('zh-CN').said(said)).toBe(
    '设置已保存，但没有生效：没有设备“X”。可用的有：CPU、Vulkan0。请把 compute.device 设为其中之一，或设为 auto。',
  );
});

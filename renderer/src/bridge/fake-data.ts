import type { SpeechModel } from '../../../main/contract/models.ts';
import type {
  DeviceSnapshot,
  EngineInfo,
  ModelSnapshot,
  RuntimeSnapshot,
} from '../../../main/contract/runtime.ts';
import { say } from '../../../main/contract/said.ts';
import { defaultSettings, type Settings } from '../../../main/contract/settings.ts';
import type { Job, SpeakResult } from '../../../main/contract/speech.ts';
import type { SavedVoice } from '../../../main/contract/voices.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** A fixed moment, so that pictures of the window are the same every day. */
const fakeNow = Date.UTC(2026, 2, 14, 9, 30);

export const fakeSettings = (patch: Partial<Settings> = {}): Settings => ({ ...defaultSettings(), ...patch });

export const fakeEngine: EngineInfo = {
  id: 'mini',
  name: 'Mizuoto mini',
  description: 'The built-in voice: two small networks, English.',
  licence: 'Apache-2.0',
  sample_rate: 24000,
  languages: ['en-US'],
  voices: [
    { id: 'slt', name: 'Sora', language: 'en-US', description: 'A calm female voice' },
    { id: 'slt-low', name: 'Sora, lower', language: 'en-US', description: 'The same voice, deeper' },
  ],
  models: [
    {
      id: 'mini',
      name: 'Mizuoto mini',
      sample_rate: 24000,
      size_bytes: 8_900_000,
      modes: ['speakers'],
      instruct: 'none',
      reference_text: 'none',
      languages: ['en-US'],
      auto_language: false,
      speakers: [
        { id: 'slt', name: 'Sora', language: 'en-US', description: 'A calm female voice' },
        { id: 'slt-low', name: 'Sora, lower', language: 'en-US', description: 'The same voice, deeper' },
      ],
      limits: { text_characters: null, instruct_characters: 0, reference_seconds: null },
    },
  ],
  parameters: [
    { key: 'voice', default: 'slt' },
    { key: 'speed', minimum: 0.5, maximum: 2, step: 0.05, default: 1 },
    { key: 'pitch', minimum: 0.5, maximum: 2, step: 0.05, default: 1 },
    { key: 'seed', default: null },
  ],
  size_bytes: 8_900_000,
  built_in: true,
};

const qwenModel = (variant: string, patch: Partial<SpeechModel>): SpeechModel => ({
  id: `qwen3-tts:${variant}`,
  name: `Qwen3-TTS ${variant}`,
  sample_rate: 24000,
  size_bytes: 4.2 * GiB,
  modes: ['speakers'],
  instruct: 'none',
  reference_text: 'none',
  languages: ['zh', 'en', 'ja'],
  auto_language: true,
  speakers: [],
  limits: { text_characters: null, instruct_characters: 0, reference_seconds: null },
  ...patch,
});

const qwenSpeakers = [
  {
    id: 'vivian',
    name: 'Vivian',
    language: 'zh',
    description: 'A young woman.',
    description_in: { 'zh-CN': '年轻女声。' },
  },
  {
    id: 'ryan',
    name: 'Ryan',
    language: 'en',
    description: 'A man; dynamic, with a strong rhythm.',
    description_in: { 'zh-CN': '男声，富有活力，节奏感强。' },
  },
  { id: 'nora', name: 'Nora', language: 'en', description: 'Only this checkpoint has her.' },
];

/** An engine of several models, each with abilities of its own. */
export const fakeQwen: EngineInfo = {
  id: 'qwen3-tts',
  name: 'Qwen3-TTS',
  description: 'Ten languages.',
  licence: 'Apache-2.0',
  sample_rate: 24000,
  languages: ['zh', 'en', 'ja'],
  voices: qwenSpeakers,
  models: [
    qwenModel('custom', {
      speakers: qwenSpeakers,
      instruct: 'optional',
      limits: { text_characters: null, instruct_characters: 40, reference_seconds: null },
    }),
    qwenModel('design', {
      modes: ['design'],
      instruct: 'required',
      limits: { text_characters: 2000, instruct_characters: 60, reference_seconds: null },
    }),
    qwenModel('base', {
      modes: ['clone'],
      reference_text: 'optional',
      languages: ['zh', 'ja'],
      limits: {
        text_characters: null,
        instruct_characters: 0,
        reference_seconds: { minimum: 1, maximum: 60 },
      },
    }),
  ],
  parameters: [
    { key: 'seed', default: null },
    { key: 'temperature', minimum: 0, maximum: 2, step: 0.05, default: 0.9 },
    { key: 'top_k', minimum: 0, maximum: 2048, step: 1, integer: true, default: 50 },
    { key: 'prompt_layout', choices: ['auto', 'whole'], default: 'auto' },
    { key: 'own_knob', description: 'Only this engine has it.', default: false },
    { key: 'own_limit', integer: true, minimum: 1, default: 10 },
  ],
  size_bytes: 12.6 * GiB,
  built_in: false,
};

export const fakeSavedVoice = (patch: Partial<SavedVoice> = {}): SavedVoice => ({
  id: 'me',
  name: 'Me',
  language: 'ja',
  text: null,
  seconds: 8,
  sample_rate: 48000,
  created_at: fakeNow,
  warnings: [],
  ...patch,
});

export const fakeCpu: DeviceSnapshot = {
  id: 'CPU',
  description: 'AMD Ryzen 7 7840U',
  kind: 'cpu',
  simulated: false,
  unified: false,
  used: true,
  why: say('device_no_graphics').message,
  reason: say('device_no_graphics'),
  total_bytes: 23.4 * GiB,
  free_bytes: 21.3 * GiB,
  held: { weights: 0, slots: 0, compute: 0, io: 0, state: 0 },
  others_bytes: 2.1 * GiB,
  reserve_bytes: 0,
};

export const fakeGpu: DeviceSnapshot = {
  id: 'CUDA0',
  description: 'NVIDIA GeForce RTX 4070',
  kind: 'gpu',
  simulated: false,
  unified: false,
  used: true,
  why: say('device_most_memory').message,
  reason: say('device_most_memory'),
  total_bytes: 12 * GiB,
  free_bytes: 2.6 * GiB,
  held: { weights: 4.3 * GiB, slots: 0.4 * GiB, compute: 1.1 * GiB, io: 0.05 * GiB, state: 0.6 * GiB },
  others_bytes: 2.95 * GiB,
  reserve_bytes: 512 * MiB,
};

export function wholly(device = 'CPU'): ModelSnapshot {
  const component = (name: string, kind: 'sequence' | 'oneshot', size: number, units: number) => ({
    name,
    kind,
    size_bytes: size,
    fixed_bytes: Math.round(size * 0.12),
    loaded_bytes: size,
    streamed_bytes: 0,
    host_bytes: 0,
    mapped_bytes: 0,
    units,
    units_resident: units,
    partial: null,
  });
  return {
    id: 'mini',
    engine: 'mini',
    name: 'Mizuoto mini',
    device,
    state: 'idle',
    load_fraction: 1,
    last_used_at: fakeNow - 4 * 60_000,
    pinned: false,
    size_bytes: 8_900_000,
    loaded_bytes: 8_900_000,
    streamed_bytes: 0,
    host_bytes: 0,
    mapped_bytes: 0,
    components: [
      component('acoustic', 'oneshot', 5_420_000, 9),
      component('vocoder', 'oneshot', 3_480_000, 6),
    ],
    calibration: { state: 'not_needed', runs: 0, ratio: 1 },
  };
}

function partly(): ModelSnapshot {
  return {
    id: 'qwen3-tts:1.7b',
    engine: 'qwen3-tts',
    name: 'Qwen3-TTS 1.7B',
    device: 'CUDA0',
    state: 'in_use',
    load_fraction: 1,
    last_used_at: fakeNow,
    pinned: true,
    size_bytes: 4.6 * GiB,
    loaded_bytes: 2.9 * GiB,
    streamed_bytes: 38.2 * GiB,
    host_bytes: 4.6 * GiB,
    mapped_bytes: 0,
    components: [
      {
        name: 'talker',
        kind: 'sequence',
        size_bytes: 3.4 * GiB,
        fixed_bytes: 0.6 * GiB,
        loaded_bytes: 1.7 * GiB,
        streamed_bytes: 38.2 * GiB,
        host_bytes: 3.4 * GiB,
        mapped_bytes: 0,
        units: 28,
        units_resident: 11,
        partial: {
          reason: 'budget',
          mode: 'normal',
          free_mb: 3379,
          working_mb: 1126,
          reserve_mb: 512,
          loaded_mb: 1741,
          size_mb: 3482,
          gave_up_for: null,
        },
      },
      {
        name: 'codec',
        kind: 'oneshot',
        size_bytes: 1.2 * GiB,
        fixed_bytes: 0.2 * GiB,
        loaded_bytes: 1.2 * GiB,
        streamed_bytes: 0,
        host_bytes: 1.2 * GiB,
        mapped_bytes: 0,
        units: 14,
        units_resident: 14,
        partial: null,
      },
    ],
    calibration: { state: 'calibrated', runs: 3, ratio: 1.08 },
  };
}

function loading(): ModelSnapshot {
  return {
    ...wholly('CUDA0'),
    id: 'cosyvoice',
    engine: 'cosyvoice',
    name: 'CosyVoice 3',
    state: 'loading',
    load_fraction: 0.42,
    size_bytes: 2.2 * GiB,
    loaded_bytes: 0.92 * GiB,
    components: [],
    calibration: { state: 'none', runs: 0, ratio: 1 },
  };
}

let version = 0;

export function fakeSnapshot(patch: Partial<RuntimeSnapshot> = {}): RuntimeSnapshot {
  version++;
  return {
    version,
    at: fakeNow + version,
    devices: [fakeCpu],
    host: {
      total_bytes: 23.4 * GiB,
      available_bytes: 21.3 * GiB,
      process_bytes: 0.31 * GiB,
      pinned_bytes: 0,
      pin_budget_bytes: 9.4 * GiB,
      reserve_bytes: 2.34 * GiB,
    },
    models: [],
    jobs: [],
    policy: { 'compute.vram_mode': 'auto' },
    policy_notes: [],
    incidents: [],
    ...patch,
  };
}

export const partialSnapshot = (): RuntimeSnapshot =>
  fakeSnapshot({
    devices: [
      fakeGpu,
      {
        ...fakeCpu,
        used: false,
        why: say('device_graphics_faster').message,
        reason: say('device_graphics_faster'),
      },
    ],
    host: {
      total_bytes: 32 * GiB,
      available_bytes: 17.9 * GiB,
      process_bytes: 6.2 * GiB,
      pinned_bytes: 4.1 * GiB,
      pin_budget_bytes: 12.8 * GiB,
      reserve_bytes: 3.2 * GiB,
    },
    models: [
      partly(),
      { ...wholly('CUDA0'), calibration: { state: 'stale', runs: 2, ratio: 0.96 } },
      loading(),
    ],
  });

export function fakeResult(patch: Partial<SpeakResult> = {}): SpeakResult {
  return {
    seconds: 8.4,
    sample_rate: 24000,
    seed: 3_141_592_653,
    rtf: 0.024,
    engine: 'mini',
    model: 'mini',
    voice: 'slt',
    applied: { speed: 1, pitch: 1 },
    meta: {
      memory: {
        device: 'CPU',
        streamed_mb: 0,
        loaded_mb: 8.5,
        mapped_mb: 0,
        size_mb: 8.5,
        peak_mb: 31,
        partial: {},
      },
      compute_seconds: 0.2,
      first_audio_seconds: 0.09,
      chunks: 2,
    },
    warnings: [],
    ...patch,
  };
}

export function fakeJob(patch: Partial<Job> = {}): Job {
  return {
    job_id: 'job-1',
    model: 'mini',
    engine: 'mini',
    voice: 'slt',
    text_preview: 'Hello from Mizuoto.',
    source: 'app',
    state: 'waiting',
    created_at: fakeNow,
    progress: null,
    result: null,
    error: null,
    ...patch,
  };
}

/** A voice-like buzz: syllables of a gliding tone with overtones, the same for the same text. */
export function fakeSpeech(text: string, seconds: number, sampleRate = 24000): Float32Array<ArrayBuffer> {
  const samples = new Float32Array(Math.round(seconds * sampleRate));
  let seed = 7;
  for (const sign of text) seed = (seed * 31 + sign.codePointAt(0)!) >>> 0;
  const random = (): number => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  let phase = 0;
  for (let at = 0; at < samples.length; ) {
    const length = Math.round((0.09 + 0.16 * random()) * sampleRate);
    const loud = random() < 0.16 ? 0 : 0.12 + 0.3 * random();
    const pitch = 150 + 90 * random();
    const noise = random() < 0.3 ? 0.5 : 0.06;
    for (let i = 0; i < length && at + i < samples.length; i++) {
      const swell = Math.sin((Math.PI * i) / length) ** 0.7;
      phase += (2 * Math.PI * pitch * (1 + 0.1 * Math.sin((3 * i) / length))) / sampleRate;
      const tone = Math.sin(phase) + 0.5 * Math.sin(2 * phase) + 0.25 * Math.sin(3 * phase);
      samples[at + i] = loud * swell * ((1 - noise) * 0.6 * tone + noise * (random() * 2 - 1));
    }
    at += length;
  }
  return samples;
}

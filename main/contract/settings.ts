import { z } from 'zod';

const mb = z.number().int().nonnegative();

/**
 * Every setting of the studio: dotted key -> schema with its default. A key that is not here does not exist.
 * Sizes are MiB. `null` means "the studio decides".
 */
export const settingSchemas = {
  /** `auto`: the best device; otherwise a device name such as `CPU` or `Vulkan0`. */
  'compute.device': z.string().min(1).default('auto'),
  /** Most CPU threads (fewer while other programs use the processor); null: the number of physical cores. */
  'compute.threads': z.number().int().min(1).max(512).nullable().default(null),
  'compute.vram_mode': z.enum(['auto', 'high', 'normal', 'low', 'none', 'shared']).default('auto'),
  'compute.vram_reserve_mb': mb.default(512),
  'compute.vram_limit_mb': mb.min(1).nullable().default(null),
  'compute.ram_reserve_mb': mb.nullable().default(null),
  'compute.host_copies': z.enum(['auto', 'on', 'off']).default('auto'),
  /** Units copied ahead of the one that computes. */
  'compute.async_offload': z.number().int().min(0).max(8).default(1),
  'compute.max_pinned_mb': mb.nullable().default(null),
  'compute.residency': z.enum(['rule', 'cost']).default('cost'),
  'compute.kv_cache': z.enum(['dynamic', 'static']).default('dynamic'),
  'compute.gpu_allocator': z.enum(['auto', 'native', 'expandable', 'async']).default('auto'),
  'compute.gpu_jobs': z.number().int().min(1).max(8).default(1),
  'compute.oom_retry': z.boolean().default(true),
  'compute.oom_fallback': z.boolean().default(false),
  'compute.max_resident_models': z.number().int().min(1).max(64).default(3),
  /**
   * How long idle models stay warm, in the window as where the studio serves: it is their keep-warm time. Null: until others
   * need the room. Pinned ones stay.
   */
  'compute.unload_after_minutes': z.number().min(0).nullable().default(null),
  /** Make the CPU play a GPU of this many MiB (fractions allowed); null: off. */
  'compute.simulate_vram_mb': z.number().positive().nullable().default(null),
  'ui.language': z.enum(['system', 'en', 'zh-CN']).default('system'),
  'ui.theme': z.enum(['system', 'dark', 'light']).default('system'),
  /** Engines whose models give up memory last. */
  'engines.mini.pinned_models': z.array(z.string()).default([]),
  'engines.qwen3-tts.pinned_models': z.array(z.string()).default([]),
} as const;

export type SettingKey = keyof typeof settingSchemas;
export type Settings = { [K in SettingKey]: z.output<(typeof settingSchemas)[K]> };

export const settingKeys = Object.keys(settingSchemas) as SettingKey[];
export const settingsSchema = z.strictObject(settingSchemas) as unknown as z.ZodType<Settings>;
/** Any subset of the settings: what `settings.set` and `--setting` carry. Keys are checked one by one. */
export const settingsPatchSchema = z.record(z.string(), z.unknown());

export function defaultSettings(): Settings {
  return Object.fromEntries(
    settingKeys.map((key) => [key, settingSchemas[key].parse(undefined)]),
  ) as Settings;
}

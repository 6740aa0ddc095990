import { z } from 'zod';
import { errorSchema } from './errors.ts';

const bytes = z.number().int().nonnegative();

/** What the English text beside it says in other languages. */
export const translatedSchema = z.object({ 'zh-CN': z.string() });

/** The text in a reader's language; English where nobody translated it. */
export function inLanguage(
  language: 'en' | 'zh-CN',
  english: string,
  translated: z.infer<typeof translatedSchema> | undefined,
): string {
  return language === 'en' ? english : (translated?.[language] ?? english);
}

export const speakerSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** BCP 47 tag of what it speaks best. */
  language: z.string(),
  description: z.string(),
  description_in: translatedSchema.optional(),
});
export type Speaker = z.infer<typeof speakerSchema>;

/** What can be asked of one model; a request that asks for more is refused before it is queued. */
export const modelAbilitiesSchema = z.object({
  /** `speakers`: voices of its own; `clone`: a voice from reference audio; `design`: a voice from words. */
  modes: z.array(z.enum(['speakers', 'clone', 'design'])).min(1),
  /** `instruct` of the request: how to speak, or (mode `design`) who speaks. */
  instruct: z.enum(['none', 'optional', 'required']),
  /** Words of the reference audio, for cloning. */
  reference_text: z.enum(['none', 'optional', 'required']),
  /** BCP 47 tags. */
  languages: z.array(z.string()).min(1),
  /** Finds the language of a text by itself (`language: auto`). */
  auto_language: z.boolean(),
  /** Empty without the mode `speakers`; the first is the default. */
  speakers: z.array(speakerSchema),
  limits: z.object({
    /** Of one request; null: any length. */
    text_characters: z.number().int().positive().nullable(),
    instruct_characters: z.number().int().nonnegative(),
    /** Null without the mode `clone`. */
    reference_seconds: z
      .object({ minimum: z.number().positive(), maximum: z.number().positive() })
      .nullable(),
  }),
});
export type ModelAbilities = z.infer<typeof modelAbilitiesSchema>;
export type SpeechMode = ModelAbilities['modes'][number];

/** A model that can speak now. */
export const speechModelSchema = modelAbilitiesSchema.extend({
  /** `engine` or `engine:variant`; the id that speak, load, unload and pin take. */
  id: z.string(),
  name: z.string(),
  sample_rate: z.number().int().positive(),
  size_bytes: bytes,
});
export type SpeechModel = z.infer<typeof speechModelSchema>;

/** Where a model's files can be had; the studio reads them from a folder on this computer. */
export const modelSourceSchema = z.object({
  site: z.enum(['huggingface', 'modelscope']),
  /** `owner/name` */
  repository: z.string(),
  url: z.string(),
});

export const modelFileSchema = z.object({
  /** Relative to the model's folder, with `/`. */
  path: z.string(),
  /** Null where it is not known. */
  size_bytes: bytes.nullable(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
});

/** A model that the catalog knows, that is installed, or both. */
export const modelEntrySchema = z.object({
  id: z.string(),
  engine: z.string(),
  name: z.string(),
  /**
   * `unknown_engine`: installed by another version of the studio; it is kept.
   * `damaged`: its folder is gone or lacks something; `problems` says what.
   */
  state: z.enum(['built_in', 'installed', 'not_installed', 'damaged', 'unknown_engine']),
  licence: z.string(),
  /** Of an installed model: what its files take; otherwise of the download. */
  size_bytes: bytes,
  /** Null where it is not installed. */
  folder: z.string().nullable(),
  /** The studio made the folder, so that removing the model deletes it. */
  owned: z.boolean(),
  /** Milliseconds since the epoch; null where it is not installed. */
  added_at: z.number().nullable(),
  /** Null where nothing is known before it is installed. */
  abilities: modelAbilitiesSchema.nullable(),
  sources: z.array(modelSourceSchema),
  files: z.array(modelFileSchema),
  problems: z.array(errorSchema),
});
export type ModelEntry = z.infer<typeof modelEntrySchema>;

export const modelFileCheckSchema = z.object({
  path: z.string(),
  /** `present`: it is there and opens; no hash is known to compare it with. */
  state: z.enum(['verified', 'present', 'missing', 'damaged']),
  size_bytes: bytes,
  sha256: z.string().nullable(),
  /** Null unless missing or damaged. */
  error: errorSchema.nullable(),
});

export const modelCheckSchema = z.object({
  model: z.string(),
  folder: z.string(),
  ok: z.boolean(),
  files: z.array(modelFileCheckSchema),
  /** What is wrong beyond single files. */
  problems: z.array(errorSchema),
});
export type ModelCheck = z.infer<typeof modelCheckSchema>;

export const modelCheckProgressSchema = z.object({
  model: z.string(),
  file: z.string(),
  /** 0..1 over all files. */
  fraction: z.number().min(0).max(1),
});

/** A model that another program downloaded and that is not added yet. */
export const foundModelSchema = z.object({
  site: z.enum(['huggingface', 'modelscope']),
  /** What `models.add` takes. */
  folder: z.string(),
  engine: z.string(),
  /** The id that it would get without a name of its own. */
  id: z.string(),
  name: z.string(),
  size_bytes: bytes,
});
export type FoundModel = z.infer<typeof foundModelSchema>;

/** What a model may be unable to do (`ability` of the error `not_supported`), in words. */
export const abilityWords = {
  clone: { en: 'clone a voice', 'zh-CN': '克隆音色' },
  instruct: { en: 'follow an instruction', 'zh-CN': '按照指示朗读' },
  speakers: { en: 'speak in a voice by name', 'zh-CN': '使用指定名称的音色' },
} as const;
export type Ability = keyof typeof abilityWords;

/** What stages do, by the names that engines give them. */
export const stageWords: Partial<Record<string, { en: string; 'zh-CN': string }>> = {
  acoustic: { en: 'Shaping the melody', 'zh-CN': '塑造语调' },
  vocoder: { en: 'Forming the sound', 'zh-CN': '合成声音' },
  'voice prompt': { en: 'Hearing the reference', 'zh-CN': '提取音色' },
  talker: { en: 'Speaking in codes', 'zh-CN': '生成语音编码' },
  'codec decoder': { en: 'Decoding', 'zh-CN': '解码' },
};

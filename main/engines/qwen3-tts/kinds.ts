import type { ModelConfig, TalkerConfig } from './config.ts';

/** What tells the models of the family apart. */
export type ModelKind = Pick<ModelConfig, 'tts_model_type' | 'tts_model_size'>;

/** Languages and speakers by name, as a talker's configuration has them. */
export type SpokenNames = Pick<TalkerConfig, 'codec_language_id' | 'spk_id' | 'spk_is_dialect'>;

const typeNames = {
  base: 'Base',
  custom_voice: 'CustomVoice',
  voice_design: 'VoiceDesign',
} as const satisfies Record<ModelKind['tts_model_type'], string>;

/** `Qwen3-TTS 0.6B CustomVoice` */
export function modelName({ tts_model_type: type, tts_model_size: size }: ModelKind): string {
  return `Qwen3-TTS ${readableSize(size).toUpperCase()} ${typeNames[type]}`;
}

/** `0.6b-custom-voice` */
export function variantOf({ tts_model_type: type, tts_model_size: size }: ModelKind): string {
  return `${readableSize(size)}-${type.replaceAll('_', '-')}`;
}

/** `0b6` to `0.6b`; another size (of a model that somebody trained) stays as it is, without what an id may not hold. */
function readableSize(size: string): string {
  const [, whole, tenths] = /^(\d+)b(\d+)$/.exec(size) ?? [];
  if (whole !== undefined) return `${whole}.${tenths}b`;
  return size.toLowerCase().replace(/[^a-z0-9.]+/g, '') || 'own';
}

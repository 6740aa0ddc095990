import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';
import { ModelFolder } from '../../models/model-folder.ts';

/**
 * The configuration files of a Qwen3-TTS checkpoint (12 Hz family), under upstream's names
 * (`qwen_tts/core/models/configuration_qwen3_tts.py`, `core/tokenizer_12hz/configuration_qwen3_tts_tokenizer_v2.py`,
 * transformers' `MimiConfig`). Rules the code is written for are literals: a file that states another rule is refused.
 */

const size = z.number().int().positive();
const id = z.number().int().nonnegative();
const eps = z.number().positive();
const sizes = z.array(size).min(1);
/** Absent and null both mean: the rule does not apply. */
const off = z.union([z.literal(false), z.null()]).default(false);

/** What the talker, the code predictor and the transformer of the codec decoder have in common. */
const decoder = z.object({
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size,
  rms_norm_eps: eps,
  rope_theta: z.number().positive(),
  hidden_act: z.literal('silu').default('silu'),
  attention_bias: off,
});

const codePredictorSchema = decoder.extend({
  head_dim: size,
  vocab_size: size,
  num_code_groups: size.min(2),
  rope_scaling: z.null().default(null),
  use_sliding_window: off,
});

const talkerSchema = decoder.extend({
  head_dim: size,
  vocab_size: size,
  num_code_groups: size.min(2),
  text_hidden_size: size,
  text_vocab_size: size,
  max_position_embeddings: size.default(32768),
  /** All three axes of upstream's rotary embedding hold the same position, so that the sections change nothing. */
  rope_scaling: z.object({ rope_type: z.literal('default').default('default') }).nullish(),
  use_sliding_window: off,
  codec_pad_id: id,
  codec_bos_id: id,
  codec_eos_token_id: id,
  codec_think_id: id,
  codec_nothink_id: id,
  codec_think_bos_id: id,
  codec_think_eos_id: id,
  /** Language name in English, lower case, to codec id; dialects end in `_dialect`. */
  codec_language_id: z.record(z.string(), id),
  spk_id: z.record(z.string(), id),
  /** The dialect a named speaker speaks instead of Chinese. */
  spk_is_dialect: z.record(z.string(), z.union([z.literal(false), z.string()])),
  code_predictor_config: codePredictorSchema,
});

const speakerEncoderSchema = z.object({
  enc_dim: size,
  sample_rate: size.default(24_000),
  mel_dim: size.default(128),
  enc_channels: sizes.default([512, 512, 512, 512, 1536]),
  enc_kernel_sizes: sizes.default([5, 3, 3, 3, 1]),
  enc_dilations: sizes.default([1, 2, 3, 4, 1]),
  enc_attention_channels: size.default(128),
  enc_res2net_scale: size.default(8),
  enc_se_channels: size.default(128),
});

const modelShared = {
  model_type: z.literal('qwen3_tts'),
  tokenizer_type: z.literal('qwen3_tts_tokenizer_12hz'),
  /** `0b6` or `1b7`. */
  tts_model_size: z.string(),
  im_start_token_id: id,
  im_end_token_id: id,
  tts_pad_token_id: id,
  tts_bos_token_id: id,
  tts_eos_token_id: id,
  talker_config: talkerSchema,
};

const modelSchema = z.discriminatedUnion('tts_model_type', [
  z.object({
    ...modelShared,
    tts_model_type: z.literal('base'),
    speaker_encoder_config: speakerEncoderSchema,
  }),
  z.object({ ...modelShared, tts_model_type: z.literal('custom_voice') }),
  z.object({ ...modelShared, tts_model_type: z.literal('voice_design') }),
]);

const generationSchema = z.object({
  do_sample: z.boolean().default(true),
  temperature: z.number().positive().default(0.9),
  top_k: z.number().int().nonnegative().default(50),
  top_p: z.number().positive().max(1).default(1),
  repetition_penalty: z.number().positive().default(1.05),
  subtalker_dosample: z.boolean().default(true),
  subtalker_temperature: z.number().positive().default(0.9),
  subtalker_top_k: z.number().int().nonnegative().default(50),
  subtalker_top_p: z.number().positive().max(1).default(1),
  max_new_tokens: size.default(2048),
});

const codecDecoderSchema = decoder.extend({
  /** Width of a frame's embedding behind the quantizer; its codebooks have half of it. */
  codebook_dim: size,
  codebook_size: size,
  num_quantizers: size.min(2),
  num_semantic_quantizers: z.literal(1).default(1),
  latent_dim: size,
  head_dim: size,
  /** Positions a query sees, itself included. */
  sliding_window: size,
  upsampling_ratios: sizes,
  upsample_rates: sizes,
  decoder_dim: size,
});

/** transformers' `MimiConfig`; defaults are those of the class, which the file may leave out. */
const codecEncoderSchema = z.object({
  audio_channels: z.literal(1).default(1),
  num_filters: size.default(64),
  num_residual_layers: size.default(1),
  /** In the decoder's order: the encoder goes through them backwards. */
  upsampling_ratios: sizes.default([8, 6, 5, 4]),
  kernel_size: size.default(7),
  last_kernel_size: size.default(3),
  residual_kernel_size: size.default(3),
  dilation_growth_rate: size.default(2),
  compress: size.default(2),
  use_causal_conv: z.literal(true).default(true),
  use_conv_shortcut: z.literal(false).default(false),
  pad_mode: z.literal('constant').default('constant'),
  hidden_size: size.default(512),
  intermediate_size: size.default(2048),
  num_hidden_layers: size.default(8),
  num_attention_heads: size.default(8),
  num_key_value_heads: size.default(8),
  head_dim: size.nullish(),
  hidden_act: z.literal('gelu').default('gelu'),
  norm_eps: eps.default(1e-5),
  rope_theta: z.number().positive().default(10_000),
  attention_bias: off,
  codebook_dim: size.default(256),
  vector_quantization_hidden_dimension: size.default(256),
  codebook_size: size.default(2048),
  /** Codebooks stored; `encoder_valid_num_quantizers` of them are used. */
  num_quantizers: size.default(32),
  num_semantic_quantizers: z.literal(1).default(1),
});

const codecSchema = z.object({
  model_type: z.literal('qwen3_tts_tokenizer_12hz'),
  encoder_valid_num_quantizers: size,
  input_sample_rate: size,
  output_sample_rate: size,
  /** Samples per frame. */
  decode_upsample_rate: size,
  encode_downsample_rate: size,
  decoder_config: codecDecoderSchema,
  encoder_config: codecEncoderSchema,
});

export type CodePredictorConfig = z.infer<typeof codePredictorSchema>;
export type TalkerConfig = z.infer<typeof talkerSchema>;
export type SpeakerEncoderConfig = z.infer<typeof speakerEncoderSchema>;
export type ModelConfig = z.infer<typeof modelSchema>;
export type GenerationConfig = z.infer<typeof generationSchema>;
export type CodecDecoderConfig = z.infer<typeof codecDecoderSchema>;
export type CodecEncoderConfig = z.infer<typeof codecEncoderSchema>;
export type CodecConfig = z.infer<typeof codecSchema>;

export interface Qwen3TtsConfig {
  model: ModelConfig;
  generation: GenerationConfig;
  codec: CodecConfig;
}

/**
 * Read `config.json`, `generation_config.json` and `speech_tokenizer/config.json` of a checkpoint.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`: names the file and the field
 */
export async function readQwen3TtsConfig(path: string): Promise<Qwen3TtsConfig> {
  const folder = new ModelFolder(path);
  const [model, generation, codec] = await Promise.all([
    read(folder, files.model, modelSchema),
    read(folder, files.generation, generationSchema),
    read(folder, files.codec, codecSchema),
  ]);
  const problem = inconsistency(model, codec);
  if (problem) throw invalid(folder, problem.file, problem.reason);
  return { model, generation, codec };
}

const files = {
  model: 'config.json',
  generation: 'generation_config.json',
  codec: 'speech_tokenizer/config.json',
};

/** Sizes that must agree between networks; null: they do. */
function inconsistency(model: ModelConfig, codec: CodecConfig): { file: string; reason: string } | null {
  const { talker_config: talker } = model;
  const { code_predictor_config: predictor } = talker;
  const { decoder_config: decoder, encoder_config: encoder } = codec;
  const inModel = (reason: string) => ({ file: files.model, reason });
  const inCodec = (reason: string) => ({ file: files.codec, reason });
  if (predictor.num_code_groups !== talker.num_code_groups) {
    return inModel(
      `code_predictor_config.num_code_groups is ${predictor.num_code_groups}, not ${talker.num_code_groups}`,
    );
  }
  if (model.tts_model_type === 'base') {
    const speaker = model.speaker_encoder_config;
    if (speaker.enc_dim !== talker.hidden_size) {
      return inModel(
        `speaker_encoder_config.enc_dim is ${speaker.enc_dim}, hidden_size is ${talker.hidden_size}`,
      );
    }
    const layers = speaker.enc_channels.length;
    if (speaker.enc_kernel_sizes.length !== layers || speaker.enc_dilations.length !== layers) {
      return inModel(
        'speaker_encoder_config: enc_channels, enc_kernel_sizes and enc_dilations differ in length',
      );
    }
  }
  const specials = [
    talker.codec_eos_token_id,
    talker.codec_pad_id,
    talker.codec_bos_id,
    ...Object.values(talker.codec_language_id),
    ...Object.values(talker.spk_id),
  ];
  const outside = specials.find((token) => token >= talker.vocab_size);
  if (outside !== undefined)
    return inModel(`codec id ${outside} is not below vocab_size ${talker.vocab_size}`);
  const unknown = Object.values(talker.spk_is_dialect).find(
    (name) => name && !(name in talker.codec_language_id),
  );
  if (unknown) return inModel(`spk_is_dialect names "${unknown}", which codec_language_id does not have`);
  if (decoder.num_quantizers !== talker.num_code_groups) {
    return inCodec(
      `decoder_config.num_quantizers is ${decoder.num_quantizers}, the talker speaks ${talker.num_code_groups} code groups`,
    );
  }
  if (decoder.codebook_size !== predictor.vocab_size) {
    return inCodec(
      `decoder_config.codebook_size is ${decoder.codebook_size}, the talker has ${predictor.vocab_size} codes`,
    );
  }
  if (codec.encoder_valid_num_quantizers !== decoder.num_quantizers) {
    return inCodec(
      `encoder_valid_num_quantizers is ${codec.encoder_valid_num_quantizers}, not ${decoder.num_quantizers}`,
    );
  }
  const samples = product(decoder.upsample_rates) * product(decoder.upsampling_ratios);
  if (samples !== codec.decode_upsample_rate) {
    return inCodec(
      `decode_upsample_rate is ${codec.decode_upsample_rate}, the decoder makes ${samples} samples a frame`,
    );
  }
  const taken = product(encoder.upsampling_ratios) * 2;
  if (taken !== codec.encode_downsample_rate) {
    return inCodec(
      `encode_downsample_rate is ${codec.encode_downsample_rate}, the encoder takes ${taken} samples a frame`,
    );
  }
  return null;
}

function product(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a * b, 1);
}

async function read<T>(folder: ModelFolder, file: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(await folder.json(file));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalid(folder, file, issue ? `${issue.path.join('.') || 'the file'}: ${issue.message}` : 'unknown');
}

function invalid(folder: ModelFolder, file: string, reason: string): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `The file "${file}" in "${folder.path}" does not describe a Qwen3-TTS model of the 12 Hz family: ${reason}. ` +
      'Put back the file that belongs to the model.',
    { params: { file, path: folder.path, reason, unfit: `${folder.path}/${file}` } },
  );
}

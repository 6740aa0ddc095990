import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { toBFloat16 } from '../../main/nn/half.ts';
import { Random } from '../../main/nn/random.ts';

const layer = { num_attention_heads: 16, num_key_value_heads: 8, head_dim: 128, rms_norm_eps: 1e-6 };

/** `talker_config` of Qwen3-TTS-12Hz-0.6B: the published sizes. */
export const talkerConfig = {
  ...layer,
  hidden_size: 1024,
  intermediate_size: 3072,
  num_hidden_layers: 28,
  hidden_act: 'silu',
  attention_bias: false,
  rope_theta: 1_000_000,
  rope_scaling: { interleaved: true, mrope_section: [24, 20, 20], rope_type: 'default', type: 'default' },
  max_position_embeddings: 32768,
  use_sliding_window: false,
  vocab_size: 3072,
  num_code_groups: 16,
  text_hidden_size: 2048,
  text_vocab_size: 151936,
  codec_pad_id: 2148,
  codec_bos_id: 2149,
  codec_eos_token_id: 2150,
  codec_think_id: 2154,
  codec_nothink_id: 2155,
  codec_think_bos_id: 2156,
  codec_think_eos_id: 2157,
  codec_language_id: { english: 2050 },
  spk_id: {},
  spk_is_dialect: {},
  code_predictor_config: {
    ...layer,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 5,
    hidden_act: 'silu',
    attention_bias: false,
    rope_theta: 1_000_000,
    rope_scaling: null,
    max_position_embeddings: 65536,
    use_sliding_window: false,
    vocab_size: 2048,
    num_code_groups: 16,
  },
} as const;

/** Names and shapes of the talker's and the code predictor's tensors. */
export function* talkerTensors(): Generator<[string, number[]]> {
  const config = talkerConfig;
  const width = config.hidden_size;
  yield ['talker.model.text_embedding.weight', [config.text_vocab_size, config.text_hidden_size]];
  yield ['talker.model.codec_embedding.weight', [config.vocab_size, width]];
  yield* layers('talker.model', config);
  yield ['talker.text_projection.linear_fc1.weight', [config.text_hidden_size, config.text_hidden_size]];
  yield ['talker.text_projection.linear_fc1.bias', [config.text_hidden_size]];
  yield ['talker.text_projection.linear_fc2.weight', [width, config.text_hidden_size]];
  yield ['talker.text_projection.linear_fc2.bias', [width]];
  yield ['talker.codec_head.weight', [config.vocab_size, width]];
  const predictor = config.code_predictor_config;
  for (let group = 0; group < config.num_code_groups - 1; group++) {
    yield [`talker.code_predictor.model.codec_embedding.${group}.weight`, [predictor.vocab_size, width]];
    yield [`talker.code_predictor.lm_head.${group}.weight`, [predictor.vocab_size, predictor.hidden_size]];
  }
  yield* layers('talker.code_predictor.model', predictor);
}

function* layers(
  prefix: string,
  config: typeof talkerConfig | (typeof talkerConfig)['code_predictor_config'],
): Generator<[string, number[]]> {
  const { hidden_size: width, intermediate_size: inner, head_dim } = config;
  const queries = config.num_attention_heads * head_dim;
  const keys = config.num_key_value_heads * head_dim;
  for (let index = 0; index < config.num_hidden_layers; index++) {
    const name = `${prefix}.layers.${index}`;
    yield [`${name}.input_layernorm.weight`, [width]];
    yield [`${name}.self_attn.q_proj.weight`, [queries, width]];
    yield [`${name}.self_attn.k_proj.weight`, [keys, width]];
    yield [`${name}.self_attn.v_proj.weight`, [keys, width]];
    yield [`${name}.self_attn.o_proj.weight`, [width, queries]];
    yield [`${name}.self_attn.q_norm.weight`, [head_dim]];
    yield [`${name}.self_attn.k_norm.weight`, [head_dim]];
    yield [`${name}.post_attention_layernorm.weight`, [width]];
    yield [`${name}.mlp.gate_proj.weight`, [inner, width]];
    yield [`${name}.mlp.up_proj.weight`, [inner, width]];
    yield [`${name}.mlp.down_proj.weight`, [width, inner]];
  }
  yield [`${prefix}.norm.weight`, [width]];
}

/**
 * A checkpoint of the published size with random weights in bfloat16: matrices of variance 1 / fan-in, norms of 1.
 * Writes model.safetensors (1.8 GB) and config.json.
 */
export function writeRandomCheckpoint(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const header: Record<string, unknown> = {};
  let offset = 0;
  for (const [name, shape] of talkerTensors()) {
    const bytes = 2 * shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: 'BF16', shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 64) * 64 - 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.byteLength));
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  writeSync(file, length);
  writeSync(file, padded);
  const random = new Random(1);
  const blocks = new Map<number, Uint8Array>();
  for (const [, shape] of talkerTensors()) {
    const fanIn = shape[1] ?? 0;
    // Values repeat after four million: no shorter than any row, and quick to make.
    let block = blocks.get(fanIn);
    if (block === undefined) {
      const values = new Float32Array(fanIn === 0 ? 4096 : 4 * 2 ** 20);
      block = toBFloat16(fanIn === 0 ? values.fill(1) : random.fillNormal(values, 0, 1 / Math.sqrt(fanIn)));
      blocks.set(fanIn, block);
    }
    let left = 2 * shape.reduce((a, b) => a * b, 1);
    for (; left > 0; left -= Math.min(left, block.byteLength))
      writeSync(file, block, 0, Math.min(left, block.byteLength));
  }
  closeSync(file);
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ talker_config: talkerConfig }));
}

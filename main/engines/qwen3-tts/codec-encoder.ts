import { CausalConv1d } from '../../nn/blocks/causal-conv1d.ts';
import { LayerScale } from '../../nn/blocks/layer-scale.ts';
import { Codebook, ResidualVectorQuantizer } from '../../nn/blocks/residual-vq.ts';
import { SeanetEncoder } from '../../nn/blocks/seanet.ts';
import type { Stream } from '../../nn/blocks/stream.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import type { CacheView } from '../../nn/kv-cache.ts';
import { Attention } from '../../nn/layers/attention.ts';
import { MLP } from '../../nn/layers/mlp.ts';
import { LayerNorm } from '../../nn/layers/norm.ts';
import { Module, ModuleList } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import { type CodecTensors, withoutWrapper } from './codec-tensors.ts';
import type { CodecConfig, CodecEncoderConfig } from './config.ts';

/**
 * Samples to codes: transformers' Mimi encoder as `Qwen3TTSTokenizerV2` uses it (Défossez et al. 2024), chunk by
 * chunk and channels last. Of the codebooks it holds those that upstream keeps.
 */
export class CodecEncoder extends Module {
  readonly encoder: SeanetEncoder;
  readonly encoder_transformer: EncoderTransformer;
  readonly downsample: CausalConv1d;
  readonly quantizer: SplitQuantizer;
  readonly config: CodecEncoderConfig;

  /** @param tensors absent: random weights, for tests and benchmarks. */
  constructor(codec: CodecConfig, tensors?: CodecTensors) {
    super();
    const config = codec.encoder_config;
    this.config = config;
    this.encoder = new SeanetEncoder(config);
    this.encoder_transformer = new EncoderTransformer(config);
    this.downsample = new CausalConv1d(config.hidden_size, config.hidden_size, 2 * halving, {
      stride: halving,
      bias: false,
      padding_mode: 'replicate',
    });
    this.quantizer = new SplitQuantizer(config, codec.encoder_valid_num_quantizers, tensors);
  }

  override memoryUnits(): Module[] {
    return [...this.encoder.layers, ...this.encoder_transformer.layers];
  }

  get samplesPerPosition(): number {
    return this.config.upsampling_ratios.reduce((product, ratio) => product * ratio, 1);
  }

  get samplesPerFrame(): number {
    return halving * this.samplesPerPosition;
  }

  /**
   * @param pieces samples `[length, 1]`, one after the other
   * @returns i32 `[frames]` of each codebook
   */
  forward(g: GraphBuilder, pieces: readonly Tensor[], stream: Stream, attention: EncoderAttention): Tensor[] {
    return this.quantizer.encode(g, this.hidden(g, pieces, stream, attention), stream);
  }

  /** What is quantized: `[frames, hidden_size]`. */
  hidden(g: GraphBuilder, pieces: readonly Tensor[], stream: Stream, attention: EncoderAttention): Tensor {
    const x = this.encoder.forward(g, pieces, stream);
    return this.downsample.forward(g, this.encoder_transformer.forward(g, x, attention), stream);
  }
}

/** Positions of the transformer that become one frame. */
const halving = 2;

/** What attention needs of a chunk's place in the signal. */
export interface EncoderAttention {
  /** i32 `[positions]` */
  positions: Tensor;
  /** Causal, `[positions, keys]` */
  mask: Tensor;
  cache: (layer: number) => CacheView;
}

/** The encoder's name for a tensor of the codec's checkpoint; null: another part's, or read by `codecTensors`. */
export function codecEncoderName(name: string): string | null {
  if (!name.startsWith('encoder.')) return null;
  // Codebooks are looked up elsewhere, and only decoding projects out of the quantizer.
  const unused = /\.codebook\.|^encoder\.quantizer\..*\.output_proj\./.test(name);
  return unused ? null : withoutWrapper(name.slice('encoder.'.length));
}

class EncoderTransformer extends Module {
  readonly layers: ModuleList<EncoderLayer>;

  constructor(config: CodecEncoderConfig) {
    super();
    this.layers = new ModuleList(
      Array.from({ length: config.num_hidden_layers }, () => new EncoderLayer(config)),
    );
  }

  /** `[positions, hidden_size]` in and out. */
  forward(g: GraphBuilder, x: Tensor, attention: EncoderAttention): Tensor {
    let y = x.unsqueeze(0);
    for (const [index, layer] of [...this.layers].entries()) y = layer.forward(g, y, attention, index);
    return y.squeeze(0);
  }
}

class EncoderLayer extends Module {
  readonly self_attn: Attention;
  readonly mlp: MLP;
  readonly input_layernorm: LayerNorm;
  readonly post_attention_layernorm: LayerNorm;
  readonly self_attn_layer_scale: LayerScale;
  readonly mlp_layer_scale: LayerScale;

  constructor(config: CodecEncoderConfig) {
    super();
    const { hidden_size, intermediate_size, norm_eps: eps } = config;
    this.self_attn = new Attention({
      hidden_size,
      num_attention_heads: config.num_attention_heads,
      num_key_value_heads: config.num_key_value_heads,
      head_dim: config.head_dim ?? hidden_size / config.num_attention_heads,
      rope: { style: 'neox', theta: config.rope_theta },
    });
    this.mlp = new MLP({ hidden_size, intermediate_size, bias: false });
    this.input_layernorm = new LayerNorm(hidden_size, { eps });
    this.post_attention_layernorm = new LayerNorm(hidden_size, { eps });
    this.self_attn_layer_scale = new LayerScale(hidden_size);
    this.mlp_layer_scale = new LayerScale(hidden_size);
  }

  forward(g: GraphBuilder, x: Tensor, { positions, mask, cache }: EncoderAttention, index: number): Tensor {
    const inputs = { positions, mask, cache: cache(index) };
    const attended = this.self_attn.forward(g, this.input_layernorm.forward(g, x), inputs);
    const y = this.self_attn_layer_scale.forward(g, attended).add(x);
    const fed = this.mlp.forward(g, this.post_attention_layernorm.forward(g, y));
    return this.mlp_layer_scale.forward(g, fed).add(y);
  }
}

/** Both groups code the encoder's output itself: the acoustic one does not take off what the semantic one coded. */
class SplitQuantizer extends Module {
  readonly semantic_residual_vector_quantizer: ResidualVectorQuantizer;
  readonly acoustic_residual_vector_quantizer: ResidualVectorQuantizer;

  constructor(config: CodecEncoderConfig, quantizers: number, tensors?: CodecTensors) {
    super();
    const { codebook_size: size, codebook_dim: dim, hidden_size: input_dim } = config;
    const group = (name: string, count: number) => {
      const books = Array.from({ length: count }, (_, index) => {
        const path = `encoder.quantizer.${name}.layers.${index}.codebook`;
        const entries = tensors?.codebook(path, 'embed_sum', size, dim);
        return new Codebook(size, dim, { entries, search: true });
      });
      return new ResidualVectorQuantizer(books, { input_dim });
    };
    this.semantic_residual_vector_quantizer = group('semantic_residual_vector_quantizer', 1);
    this.acoustic_residual_vector_quantizer = group('acoustic_residual_vector_quantizer', quantizers - 1);
  }

  encode(g: GraphBuilder, x: Tensor, stream: Stream): Tensor[] {
    return [
      ...this.semantic_residual_vector_quantizer.encode(g, x, stream),
      ...this.acoustic_residual_vector_quantizer.encode(g, x, stream),
    ];
  }
}

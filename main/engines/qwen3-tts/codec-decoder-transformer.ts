import { LayerScale } from '../../nn/blocks/layer-scale.ts';
import type { Stream } from '../../nn/blocks/stream.ts';
import { WindowCache } from '../../nn/blocks/window-cache.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { Attention } from '../../nn/layers/attention.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { SwiGLUMLP } from '../../nn/layers/mlp.ts';
import { RMSNorm } from '../../nn/layers/norm.ts';
import { Module, ModuleList } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { CodecDecoderConfig } from './config.ts';

/** Sliding-window transformer between projections, `[frames, latent_dim]` in and out. */
export class CodecTransformer extends Module {
  readonly input_proj: Linear;
  readonly layers: ModuleList<CodecTransformerLayer>;
  readonly norm: RMSNorm;
  readonly output_proj: Linear;

  constructor(config: CodecDecoderConfig) {
    super();
    this.input_proj = new Linear(config.latent_dim, config.hidden_size);
    this.layers = new ModuleList(
      Array.from({ length: config.num_hidden_layers }, () => new CodecTransformerLayer(config)),
    );
    this.norm = new RMSNorm(config.hidden_size, { eps: config.rms_norm_eps });
    this.output_proj = new Linear(config.hidden_size, config.latent_dim);
  }

  forward(g: GraphBuilder, x: Tensor, positions: Tensor, mask: Tensor, stream: Stream): Tensor {
    let y = this.input_proj.forward(g, x);
    for (const layer of this.layers) y = layer.forward(g, y, positions, mask, stream);
    return this.output_proj.forward(g, this.norm.forward(g, y));
  }
}

class CodecTransformerLayer extends Module {
  readonly self_attn: Attention;
  readonly mlp: SwiGLUMLP;
  readonly input_layernorm: RMSNorm;
  readonly post_attention_layernorm: RMSNorm;
  readonly self_attn_layer_scale: LayerScale;
  readonly mlp_layer_scale: LayerScale;
  readonly window: number;

  constructor(config: CodecDecoderConfig) {
    super();
    const { hidden_size, rms_norm_eps: eps, rope_theta: theta } = config;
    this.window = config.sliding_window;
    this.self_attn = new Attention({
      hidden_size,
      num_attention_heads: config.num_attention_heads,
      num_key_value_heads: config.num_key_value_heads,
      head_dim: config.head_dim,
      rope: { style: 'neox', theta },
    });
    this.mlp = new SwiGLUMLP({ hidden_size, intermediate_size: config.intermediate_size });
    this.input_layernorm = new RMSNorm(hidden_size, { eps });
    this.post_attention_layernorm = new RMSNorm(hidden_size, { eps });
    this.self_attn_layer_scale = new LayerScale(hidden_size);
    this.mlp_layer_scale = new LayerScale(hidden_size);
  }

  /** `[frames, hidden_size]` in and out. */
  forward(g: GraphBuilder, x: Tensor, positions: Tensor, mask: Tensor, stream: Stream): Tensor {
    const cache = new WindowCache(this, this.window, stream);
    const normed = this.input_layernorm.forward(g, x).unsqueeze(0);
    const attended = this.self_attn.forward(g, normed, { positions, mask, cache }).squeeze(0);
    const y = this.self_attn_layer_scale.forward(g, attended).add(x);
    const fed = this.mlp.forward(g, this.post_attention_layernorm.forward(g, y));
    return this.mlp_layer_scale.forward(g, fed).add(y);
  }
}

import type { CacheView, GraphBuilder, Tensor } from '../../../nn/index.ts';
import {
  Attention,
  ConvNeXtBlock,
  Embedding,
  F,
  Linear,
  Module,
  ModuleList,
  RMSNorm,
  SwiGLUMLP,
} from '../../../nn/index.ts';

/** As in the checkpoint's `config.json`. */
export interface ExampleConfig {
  sample_rate: number;
  /** Samples per frame. */
  hop_length: number;
  letters: string;
  codebook_size: number;
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  decoder_layers: number;
  vocoder_layers: number;
}

// #region talker
class TalkerLayer extends Module {
  readonly input_layernorm: RMSNorm;
  readonly self_attn: Attention;
  readonly post_attention_layernorm: RMSNorm;
  readonly mlp: SwiGLUMLP;

  constructor(config: ExampleConfig) {
    super();
    this.input_layernorm = new RMSNorm(config.hidden_size);
    this.self_attn = new Attention({ ...config, rope: { style: 'neox' } });
    this.post_attention_layernorm = new RMSNorm(config.hidden_size);
    this.mlp = new SwiGLUMLP(config);
  }

  /** `[1, positions, hidden_size]` in and out. */
  forward(g: GraphBuilder, x: Tensor, inputs: { positions: Tensor; mask: Tensor; cache: CacheView }): Tensor {
    const attended = x.add(this.self_attn.forward(g, this.input_layernorm.forward(g, x), inputs));
    return attended.add(this.mlp.forward(g, this.post_attention_layernorm.forward(g, attended)));
  }
}

/** Letters, then codes, one after the other: what comes next. */
export class Talker extends Module {
  readonly embed_tokens: Embedding;
  readonly layers: ModuleList<TalkerLayer>;
  readonly norm: RMSNorm;
  readonly lm_head: Linear;

  constructor(config: ExampleConfig) {
    super();
    this.embed_tokens = new Embedding(config.letters.length + config.codebook_size, config.hidden_size);
    const layers = Array.from({ length: config.num_hidden_layers }, () => new TalkerLayer(config));
    this.layers = new ModuleList(layers);
    this.norm = new RMSNorm(config.hidden_size);
    this.lm_head = new Linear(config.hidden_size, config.codebook_size, { bias: false });
  }

  /** Each layer moves by itself. Without this, lists of 1 MB and more are cut so anyway. */
  override memoryUnits(): Module[] {
    return [...this.layers];
  }

  /** Tokens `[1, positions]` in, scores of the code after the last of them `[1, 1, codebook_size]` out. */
  forward(
    g: GraphBuilder,
    tokens: Tensor,
    { caches, ...inputs }: { positions: Tensor; mask: Tensor; caches: (layer: number) => CacheView },
  ): Tensor {
    let x = this.embed_tokens.forward(g, tokens);
    for (const [index, layer] of [...this.layers].entries()) {
      x = layer.forward(g, x, { ...inputs, cache: caches(index) });
    }
    const last = x.narrow(1, x.size(1) - 1, 1);
    return this.lm_head.forward(g, this.norm.forward(g, last));
  }
}
// #endregion

/** Codes to features; each frame sees those on both sides of it. */
export class Decoder extends Module {
  readonly embed: Embedding;
  readonly blocks: ModuleList<ConvNeXtBlock>;

  constructor({ codebook_size, hidden_size, decoder_layers }: ExampleConfig) {
    super();
    this.embed = new Embedding(codebook_size, hidden_size);
    this.blocks = new ModuleList(
      Array.from({ length: decoder_layers }, () => new ConvNeXtBlock(hidden_size)),
    );
  }

  override memoryUnits(): Module[] {
    return [...this.blocks];
  }

  /** `[1, frames]` in, `[1, frames, hidden_size]` out. */
  forward(g: GraphBuilder, codes: Tensor): Tensor {
    let x = this.embed.forward(g, codes).transpose(1, 2);
    for (const block of this.blocks) x = block.forward(g, x);
    return x.transpose(1, 2);
  }
}

/** Features to samples. Causal: no frame looks ahead, so it can speak before it has heard everything. */
export class Vocoder extends Module {
  readonly blocks: ModuleList<ConvNeXtBlock>;
  readonly head: Linear;

  constructor({ hidden_size, hop_length, vocoder_layers }: ExampleConfig) {
    super();
    const block = () => new ConvNeXtBlock(hidden_size, { padding: 'causal' });
    this.blocks = new ModuleList(Array.from({ length: vocoder_layers }, block));
    this.head = new Linear(hidden_size, hop_length);
  }

  override memoryUnits(): Module[] {
    return [...this.blocks];
  }

  /** Frames before a frame that have a say in it. */
  get reach(): number {
    return 6 * this.blocks.length;
  }

  /** `[1, frames, hidden_size]` in, `[1, frames, hop_length]` out. */
  forward(g: GraphBuilder, features: Tensor): Tensor {
    let x = features.transpose(1, 2);
    for (const block of this.blocks) x = block.forward(g, x);
    return F.tanh(this.head.forward(g, x.transpose(1, 2)));
  }
}

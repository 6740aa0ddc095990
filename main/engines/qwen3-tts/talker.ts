import type { Device } from '../../../native/addon.ts';
import { Qwen3Decoder, type Qwen3Inputs } from '../../nn/blocks/qwen3.ts';
import * as F from '../../nn/functional.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { Embedding } from '../../nn/layers/embedding.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { Module } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { TalkerConfig } from './config.ts';

/** The talker's name for a tensor of the checkpoint; null: another component's. */
export function talkerName(name: string): string | null {
  if (name.startsWith('talker.code_predictor.') || name === textTable) return null;
  return name.startsWith('talker.') ? name.slice('talker.'.length) : null;
}

/** The text table's name for a tensor of the checkpoint; null: another component's. */
export function textEmbeddingName(name: string): string | null {
  return name === textTable ? 'weight' : null;
}

export const textTable = 'talker.model.text_embedding.weight';

/**
 * Text ids to vectors. A third of a small model's bytes, of which a request reads a few rows: a component of its own, on
 * the processor, where its rows are read from the memory map.
 */
export class TextEmbedding extends Embedding {
  constructor(config: TalkerConfig) {
    super(config.text_vocab_size, config.text_hidden_size);
  }
}

class TextProjection extends Module {
  readonly linear_fc1: Linear;
  readonly linear_fc2: Linear;

  constructor(config: TalkerConfig) {
    super();
    this.linear_fc1 = new Linear(config.text_hidden_size, config.text_hidden_size);
    this.linear_fc2 = new Linear(config.text_hidden_size, config.hidden_size);
  }

  /** `[..., text_hidden_size] -> [..., hidden_size]` */
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.linear_fc2.forward(g, F.silu(this.linear_fc1.forward(g, x)));
  }
}

class TalkerModel extends Qwen3Decoder {
  readonly codec_embedding: Embedding;

  constructor(config: TalkerConfig) {
    super(config);
    this.codec_embedding = new Embedding(config.vocab_size, config.hidden_size);
  }
}

/** What a step of the talker gives. */
export interface TalkerStep {
  /** Last position, normalised: `[1, 1, hidden_size]`. The code predictor starts from it. */
  hidden: Tensor;
  /** Scores of the next frame's first code: `[1, vocab_size]`. */
  logits: Tensor;
}

export type CacheDType = 'f32' | 'f16';

/**
 * Type of the talker's keys and values. Graphics processors keep those of half-precision weights in float16: half the
 * memory, and what their kernels read (upstream keeps them in the weights' own type, llama.cpp in float16 too). The
 * processor keeps float32: measured with this talker, float16 took 2 % longer over 256 positions and 12 % over 2,048,
 * and scores were off by 7e-3 instead of less than 1e-4, because values are summed up in float16 there.
 */
export function cacheDType({ model }: Talker, device: Pick<Device, 'kind' | 'simulated'>): CacheDType {
  const { dtype } = model.layers.at(0).self_attn.k_proj.weight;
  const half = dtype === 'f16' || dtype === 'bf16';
  return half && device.kind !== 'cpu' && !device.simulated ? 'f16' : 'f32';
}

/**
 * The language model that draws the first code of each frame
 * (`Qwen3TTSTalkerForConditionalGeneration` of qwen-tts 0.1.1, without text table and code predictor).
 *
 * Upstream turns positions on three axes that are always equal; that is the plain rotation here.
 */
export class Talker extends Module {
  readonly model: TalkerModel;
  readonly text_projection: TextProjection;
  readonly codec_head: Linear;

  constructor(readonly config: TalkerConfig) {
    super();
    this.model = new TalkerModel(config);
    this.text_projection = new TextProjection(config);
    this.codec_head = new Linear(config.hidden_size, config.vocab_size, { bias: false });
  }

  /** In running order: the projection before the first layer, the head after the last. */
  override memoryUnits(): Module[] {
    return [this.text_projection, ...this.model.layers, this.codec_head];
  }

  /** @param x `[1, positions, hidden_size]`: sums of a text and a codec vector. */
  forward(g: GraphBuilder, x: Tensor, inputs: Qwen3Inputs): TalkerStep {
    const states = this.model.forward(g, x, inputs);
    const hidden = states.narrow(1, states.size(1) - 1, 1);
    const logits = this.codec_head.forward(g, hidden.reshape(1, hidden.size(2)));
    return { hidden, logits };
  }
}

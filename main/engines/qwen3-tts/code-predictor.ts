import { Qwen3Decoder, type Qwen3Inputs } from '../../nn/blocks/qwen3.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { Embedding } from '../../nn/layers/embedding.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { Module, ModuleList } from '../../nn/module.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { CodePredictorConfig, TalkerConfig } from './config.ts';

const prefix = 'talker.code_predictor.';

/** The code predictor's name for a tensor of the checkpoint; null: another component's. */
export function codePredictorName(name: string): string | null {
  return name.startsWith(prefix) ? name.slice(prefix.length) : null;
}

class CodePredictorModel extends Qwen3Decoder {
  /** Tables of groups 1 and up; they are as wide as the talker, whose next input is made from them too. */
  readonly codec_embedding: ModuleList<Embedding>;

  constructor(config: TalkerConfig) {
    const { code_predictor_config: own, num_code_groups: groups, hidden_size: width } = config;
    super(own);
    this.codec_embedding = new ModuleList(
      Array.from({ length: groups - 1 }, () => new Embedding(own.vocab_size, width)),
    );
  }
}

/**
 * The small decoder that draws codes 1 and up of a frame, one after the other, from the talker's state and code 0
 * (`Qwen3TTSTalkerCodePredictorModelForConditionalGeneration` of qwen-tts 0.1.1).
 */
export class CodePredictor extends Module {
  readonly model: CodePredictorModel;
  readonly lm_head: ModuleList<Linear>;
  /** Null where the talker is as wide as the predictor. */
  readonly small_to_mtp_projection: Linear | null;
  readonly config: CodePredictorConfig;
  /** Codes that it draws for each frame. */
  readonly codes: number;

  constructor(config: TalkerConfig) {
    super();
    const { code_predictor_config: own, num_code_groups: groups } = config;
    this.config = own;
    this.codes = groups - 1;
    this.model = new CodePredictorModel(config);
    this.lm_head = new ModuleList(
      Array.from({ length: this.codes }, () => new Linear(own.hidden_size, own.vocab_size, { bias: false })),
    );
    this.small_to_mtp_projection =
      own.hidden_size === config.hidden_size ? null : new Linear(config.hidden_size, own.hidden_size);
  }

  override memoryUnits(): Module[] {
    const projection = this.small_to_mtp_projection === null ? [] : [this.small_to_mtp_projection];
    return [...projection, ...this.model.layers, ...this.lm_head];
  }

  /** Vector of a code of group `step + 1`: i32 `[1]` to `[1, 1, talker's hidden_size]`. */
  embed(g: GraphBuilder, step: number, code: Tensor): Tensor {
    return this.model.codec_embedding.at(step).forward(g, code).unsqueeze(0);
  }

  /**
   * Scores of code `step + 1` of a frame.
   *
   * @param x `[1, positions, talker's hidden_size]`: at step 0 the talker's state and the vector of code 0, then the
   *   vector of the code before.
   * @returns `[1, vocab_size]`
   */
  forward(g: GraphBuilder, step: number, x: Tensor, inputs: Qwen3Inputs): Tensor {
    const projected = this.small_to_mtp_projection?.forward(g, x) ?? x;
    const states = this.model.forward(g, projected, inputs);
    const last = states.narrow(1, states.size(1) - 1, 1);
    return this.lm_head.at(step).forward(g, last.reshape(1, last.size(2)));
  }
}

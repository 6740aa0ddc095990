import * as F from '../functional.ts';
import type { GraphBuilder } from '../graph.ts';
import { Module } from '../module.ts';
import type { Tensor } from '../tensor.ts';
import { type ActivationName, activations } from './activation.ts';
import { Linear } from './linear.ts';

/** `down(silu(gate(x)) * up(x))` over the last dimension (Shazeer 2020; the MLP of Llama and Qwen). */
export class SwiGLUMLP extends Module {
  readonly gate_proj: Linear;
  readonly up_proj: Linear;
  readonly down_proj: Linear;

  constructor(config: { hidden_size: number; intermediate_size: number; bias?: boolean }) {
    super();
    const options = { bias: config.bias ?? false };
    this.gate_proj = new Linear(config.hidden_size, config.intermediate_size, options);
    this.up_proj = new Linear(config.hidden_size, config.intermediate_size, options);
    this.down_proj = new Linear(config.intermediate_size, config.hidden_size, options);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const gated = F.swiglu(this.gate_proj.forward(g, x), this.up_proj.forward(g, x));
    return this.down_proj.forward(g, gated);
  }
}

/** `fc2(act(fc1(x)))` over the last dimension, the MLP of the original transformer. */
export class MLP extends Module {
  readonly fc1: Linear;
  readonly fc2: Linear;

  constructor(
    config: { hidden_size: number; intermediate_size: number; bias?: boolean },
    readonly hidden_act: ActivationName = 'gelu',
  ) {
    super();
    const options = { bias: config.bias ?? true };
    this.fc1 = new Linear(config.hidden_size, config.intermediate_size, options);
    this.fc2 = new Linear(config.intermediate_size, config.hidden_size, options);
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.fc2.forward(g, activations[this.hidden_act](this.fc1.forward(g, x)));
  }
}

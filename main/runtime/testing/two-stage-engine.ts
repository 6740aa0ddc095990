import type { Addon } from '../../../native/addon.ts';
import type { DeviceBook } from '../../memory/device-book.ts';
import { ModelHandle } from '../../memory/model-handle.ts';
import { decideUnits } from '../../memory/units.ts';
import type { GraphBuilder } from '../../nn/graph.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import { Linear } from '../../nn/layers/linear.ts';
import { Module } from '../../nn/module.ts';
import { Random } from '../../nn/random.ts';
import { randomWeights } from '../../nn/random-weights.ts';
import type { Tensor } from '../../nn/tensor.ts';
import type { LoadedParts, ModelSource } from '../model-source.ts';
import type { StageContext } from '../types.ts';

const width = 128;
const hidden = 192;

class Block extends Module {
  readonly up = new Linear(width, hidden);
  readonly down = new Linear(hidden, width, { bias: false });

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.add(this.down.forward(g, this.up.forward(g, x).unary('silu')).affine(0.3, 0));
  }
}

/** Layers in a row, each a unit of about 200 KB in float32 (half of that in half precision). */
class Tower extends Module {
  readonly blocks: Block[];
  readonly head = new Linear(width, width);

  constructor(blocks: number) {
    super();
    this.blocks = Array.from({ length: blocks }, () => new Block());
  }

  override memoryUnits(): Module[] {
    return [...this.blocks];
  }

  forward(g: GraphBuilder, x: Tensor): Tensor {
    let y = x;
    for (const block of this.blocks) y = block.forward(g, y);
    return this.head.forward(g, y);
  }
}

export interface TwoStageShape {
  /** Layers of the sequence component, run once per token, and of the oneshot component. */
  talkerBlocks: number;
  decoderBlocks: number;
  /** Default: `sequence`. */
  talkerKind?: 'sequence' | 'oneshot';
  dtype?: 'f32' | 'f16' | 'bf16';
  /** The decoder's working memory is estimated as this share of what it is. Default: 1. */
  decoderEstimate?: number;
}

/**
 * A small engine for tests of the memory manager, in two stages: a sequence component that draws random numbers for
 * each token (`run`), and a oneshot component that yields audio (`use`), two guidance passes per chunk.
 */
export class TwoStageEngine {
  readonly talker: ModelHandle;
  readonly decoder: ModelHandle;
  readonly #talkerModule: Tower;
  readonly #decoderModule: Tower;
  readonly graphs: GraphCache;
  readonly #decoderEstimate: number;

  constructor(addon: Addon, book: DeviceBook, shape: TwoStageShape, model = 'two-stage') {
    this.#decoderEstimate = shape.decoderEstimate ?? 1;
    this.#talkerModule = new Tower(shape.talkerBlocks);
    this.#decoderModule = new Tower(shape.decoderBlocks);
    const options = { addon, book, model, dtype: shape.dtype ?? 'f32' } as const;
    this.talker = handleOf(this.#talkerModule, {
      ...options,
      component: 'talker',
      kind: shape.talkerKind ?? 'sequence',
      seed: 1,
    });
    this.decoder = handleOf(this.#decoderModule, {
      ...options,
      component: 'decoder',
      kind: 'oneshot',
      seed: 2,
    });
    this.graphs = new GraphCache(addon, book.device, { arena: book.arena });
  }

  /** What the graphs take, and the values in and out of them; exact but for `decoderEstimate`. */
  memoryFor(module: 'talker' | 'decoder', rows: number): number {
    const { computeBytes, ioBytes } = this.graphs.plan(...this.#recording(module, rows));
    const bytes = computeBytes + 2 * ioBytes;
    return module === 'decoder' ? Math.ceil(bytes * this.#decoderEstimate) : bytes;
  }

  /** Every run of the same seed gives the same samples. */
  async *speak(
    seed: number,
    tokens: number,
    ctx: StageContext,
    rng = new Random(seed),
  ): AsyncGenerator<Float32Array> {
    ctx.announce([
      { name: 'talker', handles: [this.talker], memory: this.memoryFor('talker', 1), passes: tokens },
      { name: 'decoder', handles: [this.decoder], memory: this.memoryFor('decoder', tokens), passes: 2 },
    ]);
    const codes = await ctx.run(
      'talker',
      [this.talker],
      () => this.#generate(tokens, rng, ctx),
      this.memoryFor('talker', 1),
      { generators: [rng], passes: tokens },
    );
    ctx.progress(0.5);
    const memory = this.memoryFor('decoder', tokens);
    yield* ctx.use([this.decoder], memory, () => this.#decode(codes, tokens, ctx), {
      name: 'decoder',
      passes: 2,
    });
    ctx.progress(1);
  }

  async #generate(tokens: number, rng: Random, ctx: StageContext): Promise<Float32Array> {
    const codes = new Float32Array(tokens * width);
    let x = rng.fillNormal(new Float32Array(width));
    for (let token = 0; token < tokens; token++) {
      const y = await this.#run('talker', 1, x, ctx);
      const noise = rng.fillNormal(new Float32Array(width));
      x = y.map((value, index) => value * 0.5 + noise[index]!);
      codes.set(x, token * width);
    }
    return codes;
  }

  async *#decode(codes: Float32Array, tokens: number, ctx: StageContext): AsyncGenerator<Float32Array> {
    for (let chunk = 0; chunk < 2; chunk++) {
      const conditional = await this.#run('decoder', tokens, codes, ctx);
      const unconditional = await this.#run('decoder', tokens, new Float32Array(codes.length), ctx);
      yield conditional.map((value, index) => unconditional[index]! + 2 * (value - unconditional[index]!));
    }
  }

  #recording(module: 'talker' | 'decoder', rows: number): [string, (g: GraphBuilder) => void] {
    const tower = module === 'talker' ? this.#talkerModule : this.#decoderModule;
    return [`${module} ${rows}`, (g) => g.output('y', tower.forward(g, g.input('x', 'f32', [rows, width])))];
  }

  #run(
    module: 'talker' | 'decoder',
    rows: number,
    x: Float32Array,
    ctx: StageContext,
  ): Promise<Float32Array> {
    const [key, record] = this.#recording(module, rows);
    return this.graphs.use(key, record, (graph) => graph.runFloat32({ x }, 'y', { signal: ctx.signal }));
  }

  async unload(): Promise<void> {
    await this.graphs.dispose();
  }

  static source(addon: Addon, shape: TwoStageShape, model = 'two-stage'): ModelSource<TwoStageEngine> {
    return {
      id: model,
      engine: model.split(':')[0]!,
      name: 'Two stages',
      load: async ({ book, progress }): Promise<LoadedParts<TwoStageEngine>> => {
        const value = new TwoStageEngine(addon, book, shape, model);
        progress(1);
        return {
          value,
          handles: [value.talker, value.decoder],
          caches: [value.graphs],
          unload: () => value.unload(),
        };
      },
    };
  }
}

function handleOf(
  module: Tower,
  options: {
    addon: Addon;
    book: DeviceBook;
    model: string;
    component: string;
    kind: 'sequence' | 'oneshot';
    dtype: 'f32' | 'f16' | 'bf16';
    seed: number;
  },
): ModelHandle {
  const { addon, book, model, component, kind, dtype, seed } = options;
  const units = decideUnits(module, {
    bytesOf: (parameter) => parameter.elements * (dtype === 'f32' ? 4 : 2),
  });
  const { unitOf, unitModules } = units;
  const store = randomWeights(addon, module, { component, seed, dtype, unitOf, unitModules });
  const engine = model.split(':')[0]!;
  return new ModelHandle({ component, engine, model, kind, module, store, units, device: book.device });
}

import { describe, expect, it } from 'vitest';
import { ConvNeXtBlock } from './layers/convnext.ts';
import { Embedding } from './layers/embedding.ts';
import { Linear } from './layers/linear.ts';
import { SwiGLUMLP } from './layers/mlp.ts';
import { LayerNorm } from './layers/norm.ts';
import { Module, ModuleList } from './module.ts';
import { Parameter } from './parameter.ts';

class Block extends Module {
  readonly norm = new LayerNorm(4);
  readonly mlp = new SwiGLUMLP({ hidden_size: 4, intermediate_size: 8 });
}

class Model extends Module {
  readonly scale = new Parameter([4]);
  readonly embed = new Embedding(10, 4);
  readonly layers = new ModuleList([new Block(), new Block()]);
  readonly extra = [new Linear(4, 4), new Linear(4, 2)];
  readonly head = new Linear(4, 10, { bias: false });
  readonly #hidden = new Linear(1, 1);
  readonly note = 'no part of the tree';

  hidden(): Linear {
    return this.#hidden;
  }
}

const names = (module: Module): string[] => [...module.namedParameters()].map(({ name }) => name);

describe('Module', () => {
  it('finds parameters by dotted names, in order, in lists and arrays', () => {
    expect(names(new Model())).toEqual([
      'scale',
      'embed.weight',
      'layers.0.norm.weight',
      'layers.0.norm.bias',
      'layers.0.mlp.gate_proj.weight',
      'layers.0.mlp.up_proj.weight',
      'layers.0.mlp.down_proj.weight',
      'layers.1.norm.weight',
      'layers.1.norm.bias',
      'layers.1.mlp.gate_proj.weight',
      'layers.1.mlp.up_proj.weight',
      'layers.1.mlp.down_proj.weight',
      'extra.0.weight',
      'extra.0.bias',
      'extra.1.weight',
      'extra.1.bias',
      'head.weight',
    ]);
  });

  it('names every module once', () => {
    const modules = [...new Model().namedModules()].map(([name]) => name);
    expect(modules.slice(0, 5)).toEqual(['', 'embed', 'layers', 'layers.0', 'layers.0.norm']);
    expect(modules).toContain('extra.1');
    expect(new Set(modules).size).toBe(modules.length);
  });

  it('lists a tied parameter once, and every module that reads it', () => {
    const model = new Model();
    Reflect.set(model.head, 'weight', model.embed.weight);
    expect(names(model)).not.toContain('head.weight');
    const uses = [...model.parameterUses()].filter(({ parameter }) => parameter === model.embed.weight);
    expect(uses.map(({ name }) => name)).toEqual(['embed.weight', 'head.weight']);
    expect(uses.map(({ module }) => module)).toEqual([model.embed, model.head]);
  });

  it('survives a child that refers back to its parent', () => {
    const model = new Model();
    Object.assign(model.embed, { parent: model });
    expect(names(model)).toHaveLength(17);
  });

  it('marks parameters as streamable where their class says so', () => {
    const streamable = [...new Model().namedParameters()]
      .filter(({ parameter }) => parameter.streamable)
      .map(({ name }) => name);
    expect(streamable).toContain('layers.0.mlp.gate_proj.weight');
    expect(streamable).toContain('extra.0.bias');
    expect(streamable).not.toContain('embed.weight');
    expect(streamable).not.toContain('layers.0.norm.weight');
    expect(streamable).not.toContain('scale');
  });

  it('offers lists as candidates for units', () => {
    const model = new Model();
    expect([...model.layers.childLists()]).toEqual([['', [...model.layers]]]);
    expect([...model.childLists()]).toEqual([['extra', model.extra]]);
    expect(model.memoryUnits()).toBeNull();
  });

  it('prints like PyTorch', () => {
    expect(String(new Model())).toMatchInlineSnapshot(`
      "Model(
        (embed): Embedding(10, 4)
        (layers): ModuleList(
          (0-1): 2 x Block(
            (norm): LayerNorm((4,), eps=0.00001, elementwise_affine=True)
            (mlp): SwiGLUMLP(
              (gate_proj): Linear(in_features=4, out_features=8, bias=False)
              (up_proj): Linear(in_features=4, out_features=8, bias=False)
              (down_proj): Linear(in_features=8, out_features=4, bias=False)
            )
          )
        )
        (extra.0): Linear(in_features=4, out_features=4, bias=True)
        (extra.1): Linear(in_features=4, out_features=2, bias=True)
        (head): Linear(in_features=4, out_features=10, bias=False)
      )"
    `);
  });

  it('gives a ConvNeXt block the names of its checkpoint', () => {
    const vocos = { pw1: 'pwconv1', pw2: 'pwconv2' };
    expect(names(new ConvNeXtBlock(4, { names: vocos }))).toEqual([
      'gamma',
      'dwconv.weight',
      'dwconv.bias',
      'norm.weight',
      'norm.bias',
      'pwconv1.weight',
      'pwconv1.bias',
      'pwconv2.weight',
      'pwconv2.bias',
    ]);
  });
});

describe('Parameter', () => {
  it('refuses shapes that no tensor has', () => {
    for (const shape of [[0], [1, -2], [1.5], [1, 1, 1, 1, 1]]) {
      expect(() => new Parameter(shape)).toThrow(RangeError);
    }
  });

  it('knows its shape on the device', () => {
    expect(new Parameter([2, 3, 4], { storedOrder: [1, 2, 0] }).storedShape).toEqual([3, 4, 2]);
  });
});

describe('ModuleList', () => {
  it('is a list', () => {
    const list = new ModuleList([new Linear(1, 2), new Linear(2, 3)]);
    expect(list.length).toBe(2);
    expect(list.at(-1).out_features).toBe(3);
    expect([...list].map((layer) => layer.in_features)).toEqual([1, 2]);
    expect(() => list.at(2)).toThrow(RangeError);
  });
});

import { describe, expect, it } from 'vitest';
import type { Device } from '../../native/addon.ts';
import type { GraphBuilder } from '../nn/graph.ts';
import { Embedding } from '../nn/layers/embedding.ts';
import { Linear } from '../nn/layers/linear.ts';
import { LayerNorm } from '../nn/layers/norm.ts';
import { Module, ModuleList } from '../nn/module.ts';
import type { Tensor } from '../nn/tensor.ts';
import { pin } from './pinned.ts';
import { decideUnits } from './units.ts';

const width = 256;

class Layer extends Module {
  readonly norm = new LayerNorm(width);
  readonly up: Linear;
  readonly down: Linear;
  constructor(hidden = 512) {
    super();
    this.up = new Linear(width, hidden);
    this.down = new Linear(hidden, width);
  }
  forward(_g: GraphBuilder, x: Tensor): Tensor {
    return x;
  }
}

class Model extends Module {
  readonly embed = new Embedding(100, width);
  readonly layers: Module[];
  readonly head = new Linear(width, 100, { bias: false });
  constructor(layers: Module[] = Array.from({ length: 4 }, () => new Layer())) {
    super();
    this.layers = layers;
  }
}

/** Four bytes per weight: up 256 x 512 + 512, down 512 x 256 + 256. */
const layerBytes = 4 * (width * 512 * 2 + 512 + width);

describe('decideUnits', () => {
  it('takes the children of a long list, in running order, and leaves the rest on the device', () => {
    const model = new Model();
    const { units, unitModules, unitOf, fixedBytes } = decideUnits(model);
    expect(units.map(({ name }) => name)).toEqual(['layers.0', 'layers.1', 'layers.2', 'layers.3']);
    expect(unitModules).toEqual(model.layers);
    expect(units[0]!.bytes).toBe(layerBytes);
    const names = [...model.namedParameters()]
      .filter(({ parameter }) => !unitOf.has(parameter))
      .map(({ name }) => name);
    expect(names).toEqual([
      'embed.weight',
      ...[0, 1, 2, 3].flatMap((layer) => [`layers.${layer}.norm.weight`, `layers.${layer}.norm.bias`]),
      'head.weight',
    ]);
    expect(fixedBytes).toBe(4 * (100 * width * 2 + 4 * 2 * width));
  });

  it('leaves a list below 1 MB alone, but looks for longer ones inside its items', () => {
    expect(decideUnits(new Model([new Layer(8), new Layer(8)])).units).toEqual([]);
  });

  it('the outermost list wins and a unit is never split', () => {
    class Stack extends Module {
      readonly blocks = new ModuleList([new Model(), new Model()]);
    }
    const { units } = decideUnits(new Stack());
    expect(units.map(({ name }) => name)).toEqual(['blocks.0', 'blocks.1']);
  });

  it('a module may name its units instead', () => {
    class Named extends Model {
      override memoryUnits(): Module[] {
        return [this.layers[2]!, this.layers[0]!];
      }
    }
    expect(decideUnits(new Named()).units.map(({ name }) => name)).toEqual(['layers.0', 'layers.2']);
  });

  it('a weight that a module outside the unit reads too belongs to the fixed part', () => {
    class Tied extends Model {
      readonly output: Linear;
      constructor() {
        super();
        this.output = new Linear(512, width);
        Object.assign(this.output, { weight: (this.layers[3] as Layer).down.weight });
      }
    }
    const tied = new Tied();
    const { units, unitOf } = decideUnits(tied);
    expect(unitOf.has(tied.output.weight)).toBe(false);
    expect(units[3]!.bytes).toBe(layerBytes - 4 * width * 512);
  });

  it('the first parameter of a model and units under 64 KB never stream', () => {
    class First extends Module {
      readonly layers = [new Linear(600, 600), new Linear(600, 600), new Linear(16, 16)];
    }
    const model = new First();
    const { units, unitOf } = decideUnits(model);
    expect(units.map(({ name }) => name)).toEqual(['layers.1']);
    expect(unitOf.has(model.layers[0]!.weight)).toBe(false);
  });

  it('marks: fixed ones stay, hot and cold ones are carried by their units', () => {
    const model = new Model();
    const [a, b, c] = model.layers as Layer[];
    const { units, unitOf } = decideUnits(model, {
      marks: new Map<Module, 'hot' | 'fixed' | 'cold'>([
        [a!, 'fixed'],
        [b!.up, 'fixed'],
        [c!, 'hot'],
      ]),
    });
    expect(units.map(({ name, mark }) => [name, mark])).toEqual([
      ['layers.1', null],
      ['layers.2', 'hot'],
      ['layers.3', null],
    ]);
    expect(unitOf.has(b!.up.weight)).toBe(false);
    expect(unitOf.has(b!.down.weight)).toBe(true);
  });

  it('what is pinned to the processor is no unit, nor part of one, whatever the marks say', () => {
    const processor = { name: 'CPU', isHost: true } as Device;
    const model = new Model();
    const [a, b] = model.layers as Layer[];
    pin(a!, processor);
    pin(b!.up, processor);
    const marks = new Map<Module, 'hot'>([
      [a!, 'hot'],
      [b!.up, 'hot'],
    ]);
    const { units, unitOf, fixedBytes } = decideUnits(model, { marks });
    expect(units.map(({ name }) => name)).toEqual(['layers.1', 'layers.2', 'layers.3']);
    expect(unitOf.has(b!.up.weight)).toBe(false);
    expect(unitOf.has(b!.down.weight)).toBe(true);
    pin(model, processor);
    expect(decideUnits(model)).toMatchObject({
      units: [],
      fixedBytes: fixedBytes + 3 * layerBytes - 4 * (width * 512 + 512),
    });
    expect(() => pin(model, { name: 'Vulkan0', isHost: false } as Device)).toThrow(/not the processor/);
  });
});

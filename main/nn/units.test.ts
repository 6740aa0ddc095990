import { describe, expect, it } from 'vitest';
import type { Addon, GraphRecorder, WeightStore } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import { Linear } from './layers/linear.ts';
import { Module, ModuleList } from './module.ts';
import { Parameter } from './parameter.ts';
import type { Tensor } from './tensor.ts';
import { unitsOf } from './testing/stack.ts';
import { attachWeights, detachWeights } from './units.ts';

/** Records which unit is active; nothing is computed. */
class Trace {
  readonly events: string[] = [];
  #next = 0;

  builder(): GraphBuilder {
    const recorder: Partial<GraphRecorder> = {
      input: () => this.#next++,
      op: () => this.#next++,
      weight: (_store, name) => {
        this.events.push(name);
        return this.#next++;
      },
      setUnit: (store, unit) => {
        this.events.push(store === null ? 'none' : `${store.component}:${unit}`);
      },
    };
    return new GraphBuilder({ createRecorder: () => recorder } as unknown as Addon);
  }
}

const store = (component: string): WeightStore => ({ component }) as WeightStore;

function weightsOf(root: Module) {
  return new Map(
    [...root.namedParameters()].map(({ name, parameter }) => [parameter, { name, dtype: 'f32' as const }]),
  );
}

class Inner extends Module {
  readonly fc = new Linear(4, 4, { bias: false });

  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.fc.forward(g, x);
  }
}

class Outer extends Module {
  readonly parts = new ModuleList([new Inner(), new Inner()]);
  fails = false;

  forward(g: GraphBuilder, x: Tensor): Tensor {
    const y = [...this.parts].reduce((value, part) => part.forward(g, value), x);
    if (this.fails) throw new Error('stop');
    return y;
  }
}

describe('attachWeights', () => {
  it('makes a unit active while its module records, and only then', () => {
    const outer = new Outer();
    const units = [...outer.parts];
    attachWeights(outer, store('net'), weightsOf(outer), unitsOf(units), units);
    const trace = new Trace();
    const g = trace.builder();
    outer.forward(g, g.input('x', 'f32', [1, 4]));
    expect(trace.events).toEqual([
      'net:0',
      'parts.0.fc.weight',
      'none',
      'net:1',
      'parts.1.fc.weight',
      'none',
    ]);
  });

  it('lets the outermost unit win', () => {
    const outer = new Outer();
    attachWeights(outer, store('net'), weightsOf(outer), unitsOf([outer]), [outer, ...outer.parts]);
    const trace = new Trace();
    const g = trace.builder();
    outer.forward(g, g.input('x', 'f32', [1, 4]));
    expect(trace.events).toEqual(['net:0', 'parts.0.fc.weight', 'parts.1.fc.weight', 'none']);
  });

  it('hands over to a unit of another component and back', () => {
    const [a, b] = [new Inner(), new Inner()];
    class Both extends Module {
      forward(g: GraphBuilder, x: Tensor): Tensor {
        return a.forward(g, b.forward(g, x));
      }
    }
    const both = new Both();
    attachWeights(b, store('b'), weightsOf(b), unitsOf([b]), [b]);
    const trace = new Trace();
    const g = trace.builder();
    attachWeights(both, store('a'), weightsOf(both), new Map(), [both]);
    attachWeights(a, store('a'), weightsOf(a));
    both.forward(g, g.input('x', 'f32', [1, 4]));
    expect(trace.events).toEqual(['a:0', 'b:0', 'fc.weight', 'a:0', 'fc.weight', 'none']);
  });

  it('leaves no unit active when a forward throws', () => {
    const outer = new Outer();
    outer.fails = true;
    attachWeights(outer, store('net'), weightsOf(outer), unitsOf([outer]), [outer]);
    const trace = new Trace();
    const g = trace.builder();
    expect(() => outer.forward(g, g.input('x', 'f32', [1, 4]))).toThrow('stop');
    expect(trace.events.at(-1)).toBe('none');
  });

  it('replaces an earlier binding, and detaches', () => {
    const outer = new Outer();
    attachWeights(outer, store('old'), weightsOf(outer), unitsOf([outer]), [outer]);
    attachWeights(outer, store('new'), weightsOf(outer), unitsOf([...outer.parts]), [...outer.parts]);
    const trace = new Trace();
    const g = trace.builder();
    outer.forward(g, g.input('x', 'f32', [1, 4]));
    expect(trace.events.filter((event) => event.includes(':'))).toEqual(['new:0', 'new:1']);
    detachWeights(outer);
    expect(Object.hasOwn(outer.parts.at(0), 'forward')).toBe(false);
    expect(() => outer.forward(trace.builder(), g.input('y', 'f32', [1, 4]))).toThrow(/no weights yet/);
  });

  it('refuses a unit weight that is read outside the unit', () => {
    const outer = new Outer();
    Reflect.set(outer.parts.at(1).fc, 'weight', outer.parts.at(0).fc.weight);
    const units = [...outer.parts];
    expect(() => attachWeights(outer, store('net'), weightsOf(outer), unitsOf(units), units)).toThrow(
      /outside that unit/,
    );
  });

  it('refuses to stream what its class does not declare', () => {
    class Scale extends Module {
      readonly scale = new Parameter([4]);
      forward(g: GraphBuilder, x: Tensor): Tensor {
        return x.mul(g.weight(this.scale));
      }
    }
    const module = new Scale();
    expect(() =>
      attachWeights(module, store('net'), weightsOf(module), new Map([[module.scale, 0]]), [module]),
    ).toThrow(/does not declare that it streams/);
  });

  it('names a parameter without weights', () => {
    expect(() => attachWeights(new Inner(), store('net'), new Map())).toThrow(
      /"fc.weight" has no weight in "net"/,
    );
  });
});

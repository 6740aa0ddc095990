import { Parameter, type ParameterOptions } from './parameter.ts';

/** A parameter as found in a module tree: its dotted name and the module that reads it. */
export interface NamedParameter {
  name: string;
  parameter: Parameter;
  module: Module;
}

/**
 * A node of a network. Subclasses assign parameters and children to plain properties in their constructor, named
 * as upstream names them, so that dotted paths equal the checkpoint's names:
 *
 *     class Mlp extends Module {
 *       readonly fc1: Linear;
 *       constructor(config: { hidden_size: number }) { super(); this.fc1 = new Linear(config.hidden_size, 64); }
 *       forward(g: GraphBuilder, x: Tensor): Tensor { return this.fc1.forward(g, x).gelu(); }
 *     }
 *
 * Arrays of modules count as module lists. Private fields (`#x`) are no part of the tree.
 */
export abstract class Module {
  /** True in classes whose parameters may stream: read only in the class's own forward, moved just before it. */
  static readonly streamable: boolean = false;

  /** Methods that build this module's part of a graph; a unit is active while one of them runs. */
  static readonly entryPoints: readonly string[] = ['forward'];

  /** The modules that move as units, or null to let the memory manager choose (children of long lists). */
  memoryUnits(): Module[] | null {
    return null;
  }

  /** Arguments shown by `toString`, as in PyTorch's `extra_repr`. */
  extraRepr(): string {
    return '';
  }

  /** A parameter that streams if this class does. */
  protected parameter(shape: readonly number[], options: ParameterOptions = {}): Parameter {
    return new Parameter(shape, {
      streamable: (this.constructor as typeof Module).streamable,
      ...options,
    });
  }

  /** Own parameters and children by property name, in the order of their assignment. */
  *members(): Generator<[string, Parameter | Module]> {
    for (const [name, value] of Object.entries(this)) {
      if (value instanceof Parameter || value instanceof Module) yield [name, value];
      else if (Array.isArray(value)) {
        for (const [index, item] of value.entries()) {
          if (item instanceof Module || item instanceof Parameter) yield [`${name}.${index}`, item];
        }
      }
    }
  }

  *children(): Generator<[string, Module]> {
    for (const [name, member] of this.members()) if (member instanceof Module) yield [name, member];
  }

  /** Lists among the children (arrays; the items of a ModuleList or Sequential): candidates for memory units. */
  *childLists(): Generator<[string, readonly Module[]]> {
    for (const [name, value] of Object.entries(this)) {
      if (!Array.isArray(value)) continue;
      const modules = value.filter((item): item is Module => item instanceof Module);
      if (modules.length > 0) yield [name, modules];
    }
  }

  /** Every module of the tree once, this one first (`''`); a shared module appears under its first name. */
  *namedModules(): Generator<[string, Module]> {
    yield* walk(this, '', new Set());
  }

  /** Every parameter once, in the tree's order; a tied parameter appears under its first name. */
  *namedParameters(): Generator<NamedParameter> {
    const seen = new Set<Parameter>();
    for (const entry of this.parameterUses()) {
      if (seen.has(entry.parameter)) continue;
      seen.add(entry.parameter);
      yield entry;
    }
  }

  /** Like `namedParameters`, but a tied parameter appears once for every module that reads it. */
  *parameterUses(): Generator<NamedParameter> {
    for (const [path, module] of this.namedModules()) {
      for (const [name, member] of module.members()) {
        if (member instanceof Parameter) yield { name: join(path, name), parameter: member, module };
      }
    }
  }

  /** The tree as PyTorch prints it. */
  toString(): string {
    return print(this);
  }
}

/** A truth value as Python prints it, for `extraRepr`. */
export function python(value: boolean): string {
  return value ? 'True' : 'False';
}

function* walk(module: Module, path: string, seen: Set<Module>): Generator<[string, Module]> {
  if (seen.has(module)) return;
  seen.add(module);
  yield [path, module];
  for (const [name, child] of module.children()) yield* walk(child, join(path, name), seen);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function print(module: Module): string {
  const name = module.constructor.name;
  const extra = module.extraRepr();
  const blocks = collapse([...module.children()].map(([key, child]) => ({ key, text: print(child) })));
  if (blocks.length === 0) return `${name}(${extra})`;
  const lines = blocks.map(({ key, text }) => `  (${key}): ${text.replaceAll('\n', '\n  ')}`);
  return `${name}(\n${extra === '' ? '' : `  ${extra}\n`}${lines.join('\n')}\n)`;
}

/** Equal neighbours `0`, `1`, `2` of a list become one line `(0-2): 3 x ...`, as PyTorch prints them. */
function collapse(blocks: { key: string; text: string }[]): { key: string; text: string }[] {
  const lines: { first: string; last: string; count: number; text: string }[] = [];
  for (const { key, text } of blocks) {
    const last = lines.at(-1);
    if (last !== undefined && last.text === text && /\d$/.test(last.first) && /\d$/.test(key)) {
      last.last = key;
      last.count += 1;
    } else {
      lines.push({ first: key, last: key, count: 1, text });
    }
  }
  return lines.map(({ first, last, count, text }) =>
    count === 1 ? { key: first, text } : { key: `${first}-${last}`, text: `${count} x ${text}` },
  );
}

/** A list of modules whose items are named `0`, `1`, ... */
export class ModuleList<T extends Module = Module> extends Module implements Iterable<T> {
  readonly #items: T[];

  constructor(items: Iterable<T> = []) {
    super();
    this.#items = [...items];
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): T {
    const item = this.#items.at(index);
    if (item === undefined) throw new RangeError(`A module list of ${this.length} has no item ${index}.`);
    return item;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  override *members(): Generator<[string, Module]> {
    for (const [index, item] of this.#items.entries()) yield [String(index), item];
  }

  override *childLists(): Generator<[string, readonly Module[]]> {
    if (this.#items.length > 0) yield ['', this.#items];
  }
}

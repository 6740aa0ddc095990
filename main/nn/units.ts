import type { DType, WeightStore } from '../../native/addon.ts';
import { GraphBuilder } from './graph.ts';
import type { Module } from './module.ts';
import type { Parameter } from './parameter.ts';

type Method = (this: Module, ...args: unknown[]) => unknown;

/** What a store holds of a parameter. */
export interface BoundWeight {
  name: string;
  dtype: DType;
}

/**
 * Binds a tree to the store that holds its weights, and makes each unit active while the unit's module builds its
 * part of a graph.
 *
 * @param weights name in the store and type on the device of every parameter.
 * @param unitOf unit of each parameter that moves with one; absent: fixed part.
 * @param unitModules the module whose forward reads unit `i`'s weights, at index `i`.
 */
export function attachWeights(
  root: Module,
  store: WeightStore,
  weights: ReadonlyMap<Parameter, BoundWeight>,
  unitOf: ReadonlyMap<Parameter, number> = new Map(),
  unitModules: readonly Module[] = [],
): void {
  for (const { name, parameter } of root.namedParameters()) {
    const weight = weights.get(parameter);
    if (weight === undefined) throw new Error(`Parameter "${name}" has no weight in "${store.component}".`);
    parameter.store = store;
    parameter.path = weight.name;
    parameter.dtype = weight.dtype;
  }
  checkUnits(root, unitOf, unitModules);
  for (const [, module] of root.namedModules()) unbindUnit(module);
  for (const [unit, module] of unitModules.entries()) bindUnit(module, store, unit);
}

/** Undoes `attachWeights`; graphs recorded before stay valid. */
export function detachWeights(root: Module): void {
  for (const { parameter } of root.namedParameters()) {
    parameter.store = null;
    parameter.path = '';
    parameter.dtype = null;
  }
  for (const [, module] of root.namedModules()) unbindUnit(module);
}

/** A weight that a unit carries must be read inside the unit's module, or its forward would find it gone. */
function checkUnits(
  root: Module,
  unitOf: ReadonlyMap<Parameter, number>,
  unitModules: readonly Module[],
): void {
  const inside = unitModules.map((module) => new Set([...module.namedModules()].map(([, child]) => child)));
  for (const { name, parameter, module } of root.parameterUses()) {
    const unit = unitOf.get(parameter);
    if (unit === undefined || unit < 0) continue;
    if (inside[unit]?.has(module) !== true) {
      throw new Error(
        `Parameter "${name}" moves with unit ${unit}, but a module outside that unit reads it; it belongs to the fixed part.`,
      );
    }
    if (!parameter.streamable) {
      throw new Error(
        `Parameter "${name}" moves with unit ${unit}, but its class ${module.constructor.name} does not declare that it streams.`,
      );
    }
  }
}

const bound = new WeakMap<Module, readonly string[]>();

/** Shadows the entry points of one instance. */
function bindUnit(module: Module, store: WeightStore, unit: number): void {
  const { entryPoints } = module.constructor as typeof Module;
  for (const name of entryPoints) {
    const method = Reflect.get(module, name) as Method | undefined;
    if (typeof method !== 'function' || Object.hasOwn(module, name)) {
      throw new Error(`${module.constructor.name} is a memory unit but its class has no method "${name}".`);
    }
    Object.defineProperty(module, name, {
      configurable: true,
      enumerable: false,
      value: function (this: Module, ...args: unknown[]): unknown {
        const [g] = args;
        if (!(g instanceof GraphBuilder)) {
          throw new TypeError(
            `${module.constructor.name}.${name} takes the graph builder as its first argument.`,
          );
        }
        return g.withUnit(store, unit, () => method.apply(this, args));
      },
    });
  }
  bound.set(module, entryPoints);
}

function unbindUnit(module: Module): void {
  for (const name of bound.get(module) ?? []) Reflect.deleteProperty(module, name);
  bound.delete(module);
}

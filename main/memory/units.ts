import type { DType } from '../../native/addon.ts';
import type { Module } from '../nn/module.ts';
import type { Parameter } from '../nn/parameter.ts';
import { pinnedTo } from './pinned.ts';

/** What an engine says of a part of its model: placed first, never streamed, or the first to stream and give up. */
export type Mark = 'hot' | 'fixed' | 'cold';

/** How a component runs: each unit once per token, or each once per call (flow step, encoder, decoder). */
export type ComponentKind = 'sequence' | 'oneshot';

export interface Unit {
  /** Path of its module in the tree. */
  name: string;
  module: Module;
  /** The parameters that move; everything else of the module is in the fixed part. */
  parameters: Parameter[];
  bytes: number;
  mark: Mark | null;
}

/** Which weights move together and which stay: what `loadWeights` needs to build a component's store. */
export interface UnitDecision {
  /** In tree order, which is running order; the index is the unit's number in the weight store. */
  units: Unit[];
  unitOf: Map<Parameter, number>;
  unitModules: Module[];
  fixedBytes: number;
}

export interface UnitOptions {
  /** Bytes on the device. Default: four per element, or what a bound parameter's type takes. */
  bytesOf?: (parameter: Parameter) => number;
  marks?: ReadonlyMap<Module, Mark>;
}

/** A list of modules below this size is not worth cutting; a unit below the other is not worth a copy. */
const minListBytes = 1024 * 1024;
const minUnitBytes = 64 * 1024;

const bytesPerElement: Partial<Record<DType, number>> = { f16: 2, bf16: 2, i8: 1, i16: 2, f64: 8, i64: 8 };

export function defaultBytesOf(parameter: Parameter): number {
  return parameter.elements * ((parameter.dtype && bytesPerElement[parameter.dtype]) ?? 4);
}

/**
 * The units of a component. A module may name them (`memoryUnits`); otherwise every child of a module list of at
 * least 1 MB is one, the outermost list wins and a unit is never split. Of a unit only the weights of classes that
 * declare it stream; embeddings, norms, scales, weights shared with a module outside the unit, the model's first
 * parameter, units under 64 KB, everything marked `fixed` and all below a module that is pinned to the processor form the
 * fixed part.
 */
export function decideUnits(root: Module, options: UnitOptions = {}): UnitDecision {
  const bytesOf = options.bytesOf ?? defaultBytesOf;
  const marks = withPinned(root, options.marks ?? new Map());
  const paths = new Map([...root.namedModules()].map(([path, module]) => [module, path]));
  const uses = [...root.parameterUses()];
  const readers = new Map<Parameter, Module[]>();
  for (const { parameter, module } of uses) {
    const list = readers.get(parameter);
    if (list) list.push(module);
    else readers.set(parameter, [module]);
  }
  const first = uses[0]?.parameter;

  const units: Unit[] = [];
  const unitOf = new Map<Parameter, number>();
  for (const module of candidates(root, bytesOf)) {
    const mark = markOf(module, root, marks);
    if (mark === 'fixed') continue;
    const inside = new Set([...module.namedModules()].map(([, child]) => child));
    const fixed = modulesMarkedFixed(module, marks);
    const parameters: Parameter[] = [];
    for (const { parameter, module: reader } of module.namedParameters()) {
      const shared = readers.get(parameter)?.some((other) => !inside.has(other)) ?? true;
      const moves = parameter.streamable && !shared && parameter !== first;
      if (moves && !fixed.has(reader)) parameters.push(parameter);
    }
    const bytes = sum(parameters, bytesOf);
    if (bytes < minUnitBytes) continue;
    for (const parameter of parameters) unitOf.set(parameter, units.length);
    units.push({ name: paths.get(module) ?? '', module, parameters, bytes, mark });
  }
  let fixedBytes = 0;
  for (const { parameter } of root.namedParameters()) {
    if (!unitOf.has(parameter)) fixedBytes += bytesOf(parameter);
  }
  return { units, unitOf, unitModules: units.map((unit) => unit.module), fixedBytes };
}

/** What is pinned to the processor never streams, whatever its engine says of it. */
function withPinned(root: Module, marks: ReadonlyMap<Module, Mark>): ReadonlyMap<Module, Mark> {
  const pinned = [...root.namedModules()].filter(([, module]) => pinnedTo(module) !== null);
  if (pinned.length === 0) return marks;
  const below = pinned.flatMap(([, module]) => [...module.namedModules()].map(([, child]) => child));
  return new Map([...marks, ...below.map((module) => [module, 'fixed'] as const)]);
}

/** Modules that may be units, in tree order, none inside another. */
function candidates(root: Module, bytesOf: (parameter: Parameter) => number): Module[] {
  const found = new Set<Module>();
  const visit = (module: Module): void => {
    const named = module.memoryUnits();
    if (named !== null) {
      for (const unit of named) found.add(unit);
      return;
    }
    const inLists = new Set<Module>();
    for (const [, list] of module.childLists()) {
      for (const item of list) inLists.add(item);
      const large = list.reduce((bytes, item) => bytes + moduleBytes(item, bytesOf), 0) >= minListBytes;
      for (const item of list) {
        if (large) found.add(item);
        else visit(item);
      }
    }
    for (const [, child] of module.children()) if (!inLists.has(child)) visit(child);
  };
  visit(root);
  return outermostInTreeOrder(root, found);
}

function outermostInTreeOrder(root: Module, found: ReadonlySet<Module>): Module[] {
  const ordered: Module[] = [];
  const covered = new Set<Module>();
  for (const [, module] of root.namedModules()) {
    if (!found.has(module) || covered.has(module)) continue;
    ordered.push(module);
    for (const [, child] of module.namedModules()) covered.add(child);
  }
  return ordered;
}

function modulesMarkedFixed(unit: Module, marks: ReadonlyMap<Module, Mark>): Set<Module> {
  const fixed = new Set<Module>();
  for (const [, module] of unit.namedModules()) {
    if (marks.get(module) !== 'fixed') continue;
    for (const [, child] of module.namedModules()) fixed.add(child);
  }
  return fixed;
}

/** The mark of the unit itself, of the nearest marked module above it, or of a part of it (hot before cold). */
export function markOf(unit: Module, root: Module, marks: ReadonlyMap<Module, Mark>): Mark | null {
  if (marks.size === 0) return null;
  const own = marks.get(unit);
  if (own !== undefined) return own;
  let nearest: Mark | null = null;
  const descend = (module: Module, inherited: Mark | null): boolean => {
    const mark = marks.get(module) ?? inherited;
    if (module === unit) {
      nearest = mark;
      return true;
    }
    for (const [, child] of module.children()) if (descend(child, mark)) return true;
    return false;
  };
  descend(root, null);
  if (nearest !== null) return nearest;
  const below = [...unit.namedModules()].map(([, module]) => marks.get(module));
  if (below.includes('hot')) return 'hot';
  return below.includes('cold') ? 'cold' : null;
}

function moduleBytes(module: Module, bytesOf: (parameter: Parameter) => number): number {
  return sum(
    [...module.namedParameters()].map(({ parameter }) => parameter),
    bytesOf,
  );
}

function sum(parameters: readonly Parameter[], bytesOf: (parameter: Parameter) => number): number {
  return parameters.reduce((bytes, parameter) => bytes + bytesOf(parameter), 0);
}

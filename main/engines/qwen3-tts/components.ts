import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Addon, Checkpoint } from '../../../native/addon.ts';
import { StudioError } from '../../contract/errors.ts';
import type { DeviceCache } from '../../memory/device-book.ts';
import { type ComponentOptions, loadComponent } from '../../memory/load-component.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import { ModelFolder } from '../../models/model-folder.ts';
import type { InstalledModel } from '../../models/types.ts';
import type { DTypePolicy } from '../../nn/dtypes.ts';
import type { Module } from '../../nn/module.ts';
import type { ModelLoadContext } from '../../runtime/model-source.ts';

export interface ReadingOptions {
  addon: Addon;
  model: Pick<InstalledModel, 'id' | 'folder' | 'version'>;
  /** Default: `keep` (bfloat16, the codec float32). */
  dtype?: DTypePolicy;
}

/** What reading a component takes beside its module. */
export type ComponentSource = Pick<ComponentOptions, 'kind' | 'checkpoint' | 'rename'> &
  Partial<Pick<ComponentOptions, 'checkFinite' | 'marks'>>;

/** A network and its place under the memory manager. */
export interface Component<M extends Module> {
  handle: ModelHandle;
  module: M;
}

/**
 * Reads the parts of a model one by one. What was read can be given back at any moment; handles belong to whoever asked
 * for the model once it is whole.
 */
export class ModelReader {
  readonly handles: ModelHandle[] = [];
  readonly caches: DeviceCache[] = [];
  readonly #checks: Promise<void>[] = [];
  readonly #options: ReadingOptions;
  readonly #context: ModelLoadContext;
  readonly #owned: (() => unknown)[] = [];
  /** Components of the model, for progress. */
  readonly #count: number;

  constructor(options: ReadingOptions, context: ModelLoadContext, count: number) {
    this.#options = options;
    this.#context = context;
    this.#count = count;
  }

  /** Opens a checkpoint that is whole or split into shards; it stays open until `giveBack`. */
  async open(file: string): Promise<Checkpoint> {
    const { addon, model } = this.#options;
    const [first] = await new ModelFolder(model.folder).checkpointFiles(file);
    const checkpoint = await addon.openCheckpoint([path.join(model.folder, first!)]);
    this.#owned.push(() => checkpoint.close());
    return checkpoint;
  }

  /**
   * Values are looked at while others load and the first request begins: see `finite`.
   *
   * @throws StudioError `checkpoint_mismatch`, `cancelled`
   */
  async component<M extends Module>(name: string, module: M, source: ComponentSource): Promise<Component<M>> {
    const { addon, model, dtype = 'keep' } = this.#options;
    const { book, signal, progress } = this.#context;
    // Building a network and laying out its weights take some ten milliseconds each: others come in between.
    await turn();
    if (signal?.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
    const shared = { addon, engine: 'qwen3-tts', model: model.id, book, dtype };
    const loading = { ...shared, component: name, module, checkFinite: 'beside' as const, ...source };
    const { handle, finite } = await loadComponent(loading);
    this.handles.push(handle);
    this.#checks.push(finite);
    progress(this.handles.length / this.#count);
    await turn();
    return { handle, module };
  }

  /**
   * All weights read so far hold numbers only. Nothing that they made may be heard or kept before.
   *
   * @throws StudioError, from the promise: `weights_not_finite`
   */
  finite(): Promise<void> {
    const all = Promise.all(this.#checks).then(() => {});
    all.catch(() => {});
    return all;
  }

  /** Disposes of it with the model. */
  own<T extends { dispose(): unknown }>(part: T): T {
    this.#owned.push(() => part.dispose());
    return part;
  }

  /** Something on the device that is kept from request to request and can be made again. */
  keep(cache: DeviceCache): void {
    this.caches.push(cache);
  }

  /** Everything but the handles, last first. */
  async giveBack(): Promise<void> {
    for (const one of this.#owned.splice(0).reverse()) await one();
  }
}

import { rm, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import {
  type FoundModel as FoundInCache,
  type ModelCheck,
  type ModelEntry,
  type Said,
  StudioError,
} from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { slugOf } from '../settings/slug.ts';
import { type ModelCache, modelCaches, searchCaches } from './caches.ts';
import { checkFiles, wrongSizes } from './check-files.ts';
import { catalogModel, type FoundModel, modelEntries } from './entries.ts';
import { trueFolder } from './locate.ts';
import { ModelFolder } from './model-folder.ts';
import { ModelStore, type StoredModel } from './model-store.ts';
import { type ModelEngine, type Recognised, recognisePath, recogniseWith } from './recognise.ts';
import type { InstalledModel, Recognition } from './types.ts';

export interface ModelLibraryOptions {
  /** The studio's own folder: `models.json` is in it, and the models that the studio itself fetched in `models/`. */
  folder: string;
  engines: readonly ModelEngine[];
  warn: (said: Said) => void;
  /** Default: those of the environment. */
  caches?: readonly ModelCache[];
}

/** What was found of a stored model, for as long as its files do not change. */
interface Seen {
  key: string;
  found: FoundModel;
}

/** How an installed model is found. */
export interface ModelCondition {
  model: string;
  /** Why it cannot be loaded. */
  problems: ModelEntry['problems'];
  /** Files that have not the published size: it may be another model than its id says. */
  changed: string[];
}

/** Installed models and the catalog. Folders of other programs are used where they lie and never changed. */
export class ModelLibrary {
  readonly #store: ModelStore;
  readonly #engines: readonly ModelEngine[];
  readonly #own: string;
  readonly #caches: readonly ModelCache[];
  readonly #seen = new Map<string, Seen>();
  #found: FoundModel[] = [];
  #refreshing: Promise<void> = Promise.resolve();

  constructor({ folder, engines, warn, caches = modelCaches() }: ModelLibraryOptions) {
    this.#caches = caches;
    this.#store = new ModelStore(folder, warn);
    this.#engines = engines;
    this.#own = join(folder, 'models');
  }

  /** Looks at `models.json` and at the folders again; cheap where nothing changed. */
  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.catch(() => {}).then(() => this.#look());
    return this.#refreshing;
  }

  /** Models that can be loaded, in the order in which they were added; without the built-in ones. */
  installed(): InstalledModel[] {
    return this.#found.flatMap(({ installed }) => (installed === null ? [] : [installed]));
  }

  entries(): ModelEntry[] {
    return modelEntries(this.#engines, this.#found);
  }

  /**
   * Adds the model in a folder, where it lies. A folder that was added before is only found again.
   *
   * @param name what to call it: its id becomes `engine:name`
   * @throws StudioError `file_not_found`, `file_unreadable`, `model_not_recognised`, `checkpoint_missing`,
   *   `checkpoint_invalid`, `name_taken`, `invalid_request`, `output_not_writable`, `disk_full`, `wait_timeout`
   */
  async add(path: string, name: string | null = null): Promise<ModelEntry> {
    const label = name === null ? null : checkName(name);
    const recognised = await recognisePath(path, this.#engines);
    const folder = await trueFolder(recognised.folder);
    const gone = await this.#goneFolders();
    const id = await this.#store.update((models) => place(models, { recognised, folder, label, gone }));
    await this.refresh();
    return this.entry(id);
  }

  /** Whole models in the caches of other tools that are not added yet. */
  async find(): Promise<FoundInCache[]> {
    await this.refresh();
    const added = new Set(this.#store.list().map(({ folder }) => folder));
    const found: FoundInCache[] = [];
    for (const { site, engine, folder, recognition } of await searchCaches(this.#caches, this.#engines)) {
      const path = await trueFolder(folder);
      if (added.has(path)) continue;
      added.add(path);
      const { sizeBytes } = await new ModelFolder(folder).measure(recognition.files);
      const { name, variant } = recognition;
      found.push({
        site,
        folder,
        engine: engine.id,
        id: `${engine.id}:${variant}`,
        name,
        size_bytes: sizeBytes,
      });
    }
    return found;
  }

  /**
   * Forgets a model. Its files are deleted only where the studio itself fetched them.
   *
   * @throws StudioError `unknown_model`, `invalid_request` for a built-in one, and what writing throws
   */
  async remove(id: string): Promise<{ model: string; folder: string; deleted_bytes: number }> {
    await this.refresh();
    const entry = this.entry(id);
    if (entry.state === 'built_in' || entry.folder === null) {
      const why = entry.state === 'built_in' ? 'it is part of the studio' : 'it is not installed';
      throw new StudioError('invalid_request', `The model "${id}" cannot be removed: ${why}.`, {
        params: { call: 'models.remove', field: 'model', reason: why },
      });
    }
    await this.#store.update((models) => ({
      models: models.filter((model) => model.id !== id),
      result: undefined,
    }));
    const deleted = entry.owned ? await this.#deleteOwn(entry.folder, entry.size_bytes) : 0;
    await this.refresh();
    return { model: id, folder: entry.folder, deleted_bytes: deleted };
  }

  /** @throws StudioError `unknown_model`, `model_not_installed`, `cancelled` as AbortError of the signal */
  async check(
    id: string,
    options: { signal?: AbortSignal; onProgress?: (file: string, fraction: number) => void } = {},
  ): Promise<ModelCheck> {
    await this.refresh();
    const entry = this.entry(id);
    if (entry.folder === null) throw notInstalled(entry);
    const found = this.#found.find(({ stored }) => stored.id === id);
    const engine = this.#engines.find((candidate) => candidate.id === entry.engine);
    // A model of the person's own name may be a fine-tuned one: it is not the catalog's, byte for byte.
    const published = found !== undefined && found.stored.name === null;
    const catalog = published ? catalogModel(engine, found.stored, found.variant) : undefined;
    const expected = new Map((catalog?.files ?? []).map((file) => [file.path, file]));
    const recognition =
      found && engine ? await recogniseWith(engine, entry.folder, 'thorough').catch(() => null) : null;
    const files = recognition?.files ?? (found ? [...expected.keys()] : entry.files.map(({ path }) => path));
    const checked = await checkFiles(entry.folder, files, { expected, ...options });
    // What is told of a file already is not told again; a whole file may still be that of another model.
    const told = new Set(checked.filter(({ error }) => error !== null).map(({ path }) => path));
    const problems = recognition?.problems.map((problem) => problem.toBody()) ?? entry.problems;
    const beside = problems.filter(({ params }) => !told.has(String(params.file ?? '')));
    const ok = beside.length === 0 && checked.every(({ error }) => error === null);
    return { model: id, folder: entry.folder, ok, files: checked, problems: beside };
  }

  /** What is wrong with the installed models, as far as headers and sizes tell; those that are whole have none. */
  async condition(): Promise<ModelCondition[]> {
    await this.refresh();
    const found: ModelCondition[] = [];
    for (const model of this.#found) {
      const { stored, variant, problems } = model;
      const engine = this.#engines.find(({ id }) => id === stored.engine);
      const published = problems.length === 0 && stored.name === null;
      const files = published ? (catalogModel(engine, stored, variant)?.files ?? []) : [];
      const changed = await wrongSizes(stored.folder, files);
      found.push({ model: stored.id, problems, changed });
    }
    return found;
  }

  /** @throws StudioError `unknown_model` */
  entry(id: string): ModelEntry {
    const entries = this.entries();
    const found = entries.find((entry) => entry.id === id);
    if (found) return found;
    const ids = entries.map((entry) => entry.id);
    const near = nearest(id, ids);
    const shown = id.length > 60 ? `${id.slice(0, 57)}...` : id;
    const help = near ? `Did you mean "${near}"?` : `There is: ${ids.join(', ') || 'none'}.`;
    throw new StudioError('unknown_model', `There is no model "${shown}". ${help}`, {
      params: { model: shown, known: ids.join(', ') },
    });
  }

  async #look(): Promise<void> {
    const stored = this.#store.list();
    const found: FoundModel[] = [];
    for (const model of stored) found.push(await this.#find(model));
    for (const id of [...this.#seen.keys()]) {
      if (!stored.some((model) => model.id === id)) this.#seen.delete(id);
    }
    this.#found = found;
  }

  async #find(stored: StoredModel): Promise<FoundModel> {
    const engine = this.#engines.find(({ id }) => id === stored.engine);
    if (!engine) return { stored, installed: null, problems: [], variant: null };
    const seen = this.#seen.get(stored.id);
    if (seen && seen.key === (await keyOf(stored, seen.found.installed?.files ?? null)))
      return { ...seen.found, stored };
    const found = await look(stored, engine);
    this.#seen.set(stored.id, { key: await keyOf(stored, found.installed?.files ?? null), found });
    return found;
  }

  /** Folders of models that are there no more: another folder may take their place. */
  async #goneFolders(): Promise<Set<string>> {
    const gone = new Set<string>();
    for (const { folder } of this.#store.list()) {
      if ((await stat(folder).catch(() => null)) === null) gone.add(folder);
    }
    return gone;
  }

  async #deleteOwn(folder: string, bytes: number): Promise<number> {
    const inside = relative(await trueFolder(this.#own), await trueFolder(folder));
    // `models.json` may have been edited: only what is truly below the studio's own folder is ever deleted.
    if (inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..') return 0;
    await rm(folder, { recursive: true, force: true });
    return bytes;
  }
}

/** A damaged model is looked at again each time: whoever repairs it sees it at once. */
async function keyOf(stored: StoredModel, files: readonly string[] | null): Promise<string> {
  if (files === null) return `damaged ${Math.random()}`;
  const { version } = await new ModelFolder(stored.folder).measure(files);
  return JSON.stringify([stored.folder, stored.name, version]);
}

async function look(stored: StoredModel, engine: ModelEngine): Promise<FoundModel> {
  const damaged = (error: StudioError, variant: string | null = null): FoundModel => ({
    stored,
    installed: null,
    problems: [error.toBody()],
    variant,
  });
  if ((await stat(stored.folder).catch(() => null)) === null) return damaged(folderGone(stored));
  let recognition: Recognition | null;
  try {
    recognition = await recogniseWith(engine, stored.folder, 'quick');
  } catch (error) {
    if (error instanceof StudioError) return damaged(error);
    throw error;
  }
  if (recognition === null) return damaged(folderChanged(stored));
  const { variant, problems } = recognition;
  if (problems.length > 0) {
    return { stored, installed: null, problems: problems.map((problem) => problem.toBody()), variant };
  }
  return { stored, installed: await installedModel(stored, recognition), problems: [], variant };
}

async function installedModel(stored: StoredModel, recognition: Recognition): Promise<InstalledModel> {
  const { variant, name, sampleRate, abilities, files } = recognition;
  const { sizeBytes, version } = await new ModelFolder(stored.folder).measure(files);
  return {
    id: stored.id,
    engine: stored.engine,
    variant,
    name: stored.name ?? name,
    folder: stored.folder,
    sampleRate,
    abilities,
    files,
    sizeBytes,
    version,
    builtIn: false,
  };
}

interface Placing {
  recognised: Recognised;
  folder: string;
  label: string | null;
  gone: ReadonlySet<string>;
}

/** The list with the new model in it, and its id. */
function place(
  models: StoredModel[],
  { recognised, folder, label, gone }: Placing,
): { models: StoredModel[]; result: string } {
  const { engine, recognition } = recognised;
  const id = `${engine.id}:${label === null ? recognition.variant : slugOf(label, 'model')}`;
  const there = models.find((model) => model.folder === folder && model.engine === engine.id);
  if (there && (label === null || there.id === id)) return { models, result: there.id };
  const taken = models.find((model) => model.id === id);
  if (taken && taken !== there && !gone.has(taken.folder)) {
    throw new StudioError(
      'name_taken',
      `The model "${id}" is "${taken.folder}" already. Give this one another name (--name), or remove that one first.`,
      { params: { name: id, path: taken.folder } },
    );
  }
  const fresh: StoredModel = {
    id,
    engine: engine.id,
    name: label,
    folder,
    owned: there?.owned ?? false,
    addedAt: Date.now(),
  };
  const others = models.filter((model) => model !== taken && model !== there);
  return { models: [...others, fresh], result: id };
}

function checkName(name: string): string {
  const label = name.normalize('NFC').trim();
  if (label !== '' && label.length <= 80 && !/[\p{Cc}\p{Cs}]/u.test(label)) return label;
  throw new StudioError(
    'invalid_request',
    'A name has 1 to 80 characters, none of them a control character. Choose another one.',
    { params: { call: 'models.add', field: 'name', reason: 'a name has 1 to 80 printable characters' } },
  );
}

function folderGone({ id, folder }: StoredModel): StudioError {
  return new StudioError(
    'checkpoint_missing',
    `The folder of "${id}" is gone: "${folder}". Connect its drive, or add the model again where it is now.`,
    { params: { gone: folder, model: id, path: folder } },
  );
}

function folderChanged({ id, folder }: StoredModel): StudioError {
  return new StudioError(
    'model_not_recognised',
    `"${folder}" does not hold the model "${id}" any more. Add the model again where it is now.`,
    { params: { path: folder, changed: id } },
  );
}

function notInstalled({ id, sources }: ModelEntry): StudioError {
  const repository = sources[0]?.repository ?? id;
  return new StudioError(
    'model_not_installed',
    `The model "${id}" is not installed. Download all files of ${repository} ("mizuoto models" says how), then: mizuoto models add FOLDER.`,
    { params: { model: id, repository } },
  );
}

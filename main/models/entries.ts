import type { ModelEntry } from '../contract/index.ts';
import type { StoredModel } from './model-store.ts';
import type { ModelEngine } from './recognise.ts';
import type { CatalogModel, InstalledModel } from './types.ts';

/** A stored model as it is found on the disk now. */
export interface FoundModel {
  stored: StoredModel;
  /** Null where it is damaged or no engine knows it. */
  installed: InstalledModel | null;
  problems: ModelEntry['problems'];
  /** Variant in the catalog; null where it is not recognised. */
  variant: string | null;
}

/** Built-in models, then what was added, then what the catalog has beside these. */
export function modelEntries(engines: readonly ModelEngine[], found: readonly FoundModel[]): ModelEntry[] {
  const catalog = engines.flatMap((engine) => engine.catalog);
  const added = found.map((model) => addedEntry(model, engines));
  const present = new Set(
    found.map(({ stored, variant }) => (variant === null ? stored.id : `${stored.engine}:${variant}`)),
  );
  return [
    ...engines.flatMap((engine) => engine.builtIn().map((model) => builtInEntry(model, engine))),
    ...added,
    ...catalog.filter(({ id }) => !present.has(id)).map(catalogEntry),
  ];
}

function builtInEntry(model: InstalledModel, engine: ModelEngine): ModelEntry {
  return {
    id: model.id,
    engine: engine.id,
    name: model.name,
    state: 'built_in',
    licence: engine.description.licence,
    size_bytes: model.sizeBytes,
    folder: model.folder || null,
    owned: false,
    added_at: null,
    abilities: model.abilities,
    sources: [],
    files: model.files.map((path) => ({ path, size_bytes: null, sha256: null })),
    problems: [],
  };
}

function addedEntry(
  { stored, installed, problems, variant }: FoundModel,
  engines: readonly ModelEngine[],
): ModelEntry {
  const engine = engines.find(({ id }) => id === stored.engine);
  const known = catalogModel(engine, stored, variant);
  return {
    id: stored.id,
    engine: stored.engine,
    name: installed?.name ?? stored.name ?? known?.name ?? stored.id,
    state: engine === undefined ? 'unknown_engine' : installed === null ? 'damaged' : 'installed',
    licence: known?.licence ?? engine?.description.licence ?? '',
    size_bytes: installed?.sizeBytes ?? 0,
    folder: stored.folder,
    owned: stored.owned,
    added_at: stored.addedAt,
    abilities: installed?.abilities ?? known?.abilities ?? null,
    sources: known ? sourcesOf(known) : [],
    files: known
      ? filesOf(known)
      : (installed?.files ?? []).map((path) => ({ path, size_bytes: null, sha256: null })),
    problems,
  };
}

/** The catalog's model that a folder holds; by its id where the folder cannot be recognised. */
export function catalogModel(
  engine: ModelEngine | undefined,
  stored: Pick<StoredModel, 'id' | 'engine'>,
  variant: string | null,
): CatalogModel | undefined {
  const id = variant === null ? stored.id : `${stored.engine}:${variant}`;
  return engine?.catalog.find((model) => model.id === id);
}

function catalogEntry(model: CatalogModel): ModelEntry {
  return {
    id: model.id,
    engine: model.engine,
    name: model.name,
    state: 'not_installed',
    licence: model.licence,
    size_bytes: model.sizeBytes,
    folder: null,
    owned: false,
    added_at: null,
    abilities: model.abilities,
    sources: sourcesOf(model),
    files: filesOf(model),
    problems: [],
  };
}

function filesOf({ files }: CatalogModel): ModelEntry['files'] {
  return files.map(({ path, sizeBytes, sha256 }) => ({ path, size_bytes: sizeBytes, sha256 }));
}

function sourcesOf({ huggingface, modelscope }: CatalogModel): ModelEntry['sources'] {
  return [
    ...(huggingface === null
      ? []
      : [
          {
            site: 'huggingface' as const,
            repository: huggingface,
            url: `https://huggingface.co/${huggingface}`,
          },
        ]),
    ...(modelscope === null
      ? []
      : [
          {
            site: 'modelscope' as const,
            repository: modelscope,
            url: `https://modelscope.cn/models/${modelscope}`,
          },
        ]),
  ];
}

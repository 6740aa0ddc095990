import { StudioError } from '../contract/index.ts';
import { foldersInside, modelFolders } from './locate.ts';
import { ModelFolder } from './model-folder.ts';
import type { CatalogModel, ExpectedWeights, InstalledModel, Recognition } from './types.ts';

/** What the library needs of an engine. */
export interface ModelEngine {
  readonly id: string;
  readonly description: { licence: string };
  readonly catalog: readonly CatalogModel[];
  builtIn(): InstalledModel[];
  recognise?(folder: ModelFolder): Promise<Recognition | null>;
  weights?(folder: ModelFolder): Promise<ExpectedWeights[]>;
  inspect?(folder: ModelFolder): Promise<void>;
}

/** `quick`: at every start; `thorough`: before a model is added, and when it is checked. */
export type Care = 'quick' | 'thorough';

export interface Recognised {
  engine: ModelEngine;
  folder: string;
  recognition: Recognition;
}

/** The engine that knows this folder; null where none does. */
export async function recogniseFolder(
  folder: string,
  engines: readonly ModelEngine[],
  care: Care,
): Promise<Recognised | null> {
  for (const engine of engines) {
    const recognition = await recogniseWith(engine, folder, care);
    if (recognition !== null) return { engine, folder, recognition };
  }
  return null;
}

/**
 * By one engine. Where nothing is missing, the headers of the weights are compared with what the configuration
 * describes; with care, the files beside them are read as well. What the recogniser throws is a problem of the folder where it is one of the contract's errors.
 */
export async function recogniseWith(
  engine: ModelEngine,
  path: string,
  care: Care,
): Promise<Recognition | null> {
  const folder = new ModelFolder(path);
  const recognition = (await engine.recognise?.(folder)) ?? null;
  if (recognition === null || recognition.problems.length > 0) return recognition;
  return { ...recognition, problems: await contentProblems(engine, folder, care) };
}

async function contentProblems(engine: ModelEngine, folder: ModelFolder, care: Care): Promise<StudioError[]> {
  const problems: StudioError[] = [];
  try {
    for (const { file, problem } of (await engine.weights?.(folder)) ?? []) {
      const found = problem(await folder.tensors(file), folder.path);
      if (found !== null) problems.push(found);
    }
    if (care === 'thorough') await engine.inspect?.(folder);
  } catch (error) {
    if (!(error instanceof StudioError)) throw error;
    problems.push(error);
  }
  return problems;
}

/**
 * The model that a path means. Where the path is no model itself, the one model in it is meant.
 *
 * @throws StudioError `file_not_found`, `file_unreadable`, `model_not_recognised`, and the first problem of a model
 *   that lacks something (`checkpoint_missing`, `checkpoint_invalid`, ...)
 */
export async function recognisePath(path: string, engines: readonly ModelEngine[]): Promise<Recognised> {
  const folders = await modelFolders(path);
  const direct = await firstWhole(folders, engines);
  if (direct !== null) return direct;
  const inside: Recognised[] = [];
  for (const folder of await foldersInside(folders[0]!)) {
    const found = await recogniseFolder(folder, engines, 'thorough').catch(() => null);
    if (found !== null) inside.push(found);
  }
  if (inside.length === 1) return whole(inside[0]!);
  throw inside.length > 1 ? several(folders[0]!, inside) : await unknownFolder(folders[0]!);
}

/** Of several snapshots the first that is whole; where none is, what the first lacks. */
async function firstWhole(folders: string[], engines: readonly ModelEngine[]): Promise<Recognised | null> {
  let partial: Recognised | null = null;
  for (const folder of folders) {
    const found = await recogniseFolder(folder, engines, 'thorough');
    if (found === null) continue;
    if (found.recognition.problems.length === 0) return found;
    partial ??= found;
  }
  return partial === null ? null : whole(partial);
}

function whole(found: Recognised): Recognised {
  const [problem, ...more] = found.recognition.problems;
  if (problem === undefined) return found;
  if (more.length === 0) throw problem;
  const files = found.recognition.problems
    .map(({ params }) => params.file)
    .filter((file) => file !== undefined);
  throw new StudioError(
    problem.code,
    `${problem.message} ${more.length} more ${more.length === 1 ? 'file is' : 'files are'} missing or damaged: ${files.slice(1, 9).join(', ')}${files.length > 9 ? ', ...' : ''}.`,
    { params: { ...problem.params, files: files.join(', ') } },
  );
}

function several(folder: string, found: Recognised[]): StudioError {
  const names = found.map((one) => one.folder);
  const listed = names
    .slice(0, 10)
    .map((name) => `"${name}"`)
    .join(', ');
  return new StudioError(
    'model_not_recognised',
    `"${folder}" holds ${names.length} models. Add them one by one: ${listed}${names.length > 10 ? ', ...' : ''}.`,
    { params: { path: folder, count: names.length, known: listed } },
  );
}

/** What the folder looks like, where that helps. */
async function unknownFolder(path: string): Promise<StudioError> {
  const folder = new ModelFolder(path);
  const config = await folder.problem('config.json');
  if (config?.code === 'checkpoint_invalid') return config;
  const lacks = config === null ? null : 'config.json';
  return new StudioError(
    'model_not_recognised',
    lacks === null
      ? `No engine of the studio knows the model in "${path}": its config.json names another kind of model.`
      : `"${path}" is not a model: it holds no ${lacks}. Choose the folder that holds it and the weights.`,
    { params: { path, ...(lacks === null ? {} : { file: lacks }) } },
  );
}

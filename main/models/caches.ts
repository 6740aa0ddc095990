import { homedir } from 'node:os';
import { join } from 'node:path';
import { foldersInside } from './locate.ts';
import { type ModelEngine, type Recognised, recogniseFolder } from './recognise.ts';

export interface ModelCache {
  site: 'huggingface' | 'modelscope';
  folder: string;
}

/** Where the tools of Hugging Face and ModelScope keep what they download; whether anything is there or not. */
export function modelCaches(env: NodeJS.ProcessEnv = process.env, home: string = homedir()): ModelCache[] {
  const caches = env.XDG_CACHE_HOME || join(home, '.cache');
  const hub =
    env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(env.HF_HOME || join(caches, 'huggingface'), 'hub');
  const modelscope = env.MODELSCOPE_CACHE || join(home, '.cache', 'modelscope');
  // Three layouts, by the version of the tool.
  const layouts = [['models'], ['hub', 'models'], ['hub']];
  return [
    { site: 'huggingface', folder: hub },
    ...layouts.map((parts) => ({ site: 'modelscope' as const, folder: join(modelscope, ...parts) })),
  ];
}

/** The whole models in these caches that some engine knows. */
export async function searchCaches(
  caches: readonly ModelCache[],
  engines: readonly ModelEngine[],
): Promise<(Recognised & Pick<ModelCache, 'site'>)[]> {
  const found = new Map<string, Recognised & Pick<ModelCache, 'site'>>();
  for (const { site, folder } of caches) {
    for (const candidate of await candidatesIn(site, folder)) {
      const recognised = await recogniseFolder(candidate, engines, 'quick').catch(() => null);
      if (recognised !== null && recognised.recognition.problems.length === 0) {
        found.set(candidate, { ...recognised, site });
      }
    }
  }
  return [...found.values()];
}

/** Hugging Face: `models--owner--name`; ModelScope: `owner/name`. */
async function candidatesIn(site: ModelCache['site'], folder: string): Promise<string[]> {
  const first = await foldersInside(folder);
  if (site === 'huggingface') return first;
  const models: string[] = [];
  for (const owner of first) models.push(...(await foldersInside(owner)));
  return models;
}

import { opendir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { StudioError } from '../contract/index.ts';

/** A folder with more entries than this is no model and no collection of models worth walking. */
const maxEntries = 2000;

/**
 * The folders that a path may mean, most likely first: itself (or the folder of the file that it names); in the
 * Hugging Face cache the snapshot of a repository (`models--owner--name/snapshots/<commit>`), that of its branch
 * `main` first. The ModelScope cache holds plain folders.
 *
 * @throws StudioError `file_not_found`, `file_unreadable`
 */
export async function modelFolders(path: string): Promise<string[]> {
  const full = resolve(path);
  const folder = (await kindOf(full)) === 'file' ? dirname(full) : full;
  return [folder, ...(await snapshots(folder))];
}

/**
 * The folders in a folder that may each be a model: for whoever points at a whole cache. At most 2,000 entries are
 * looked at.
 */
export async function foldersInside(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await namesIn(folder)) {
    const child = join(folder, name);
    if (name.startsWith('.') || !(await isFolder(child))) continue;
    const inner = await snapshots(child);
    found.push(...(inner.length > 0 ? inner.slice(0, 1) : [child]));
  }
  return found;
}

/** The folder without links, so that one model is not added twice by two names. */
export async function trueFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder));
}

async function snapshots(folder: string): Promise<string[]> {
  const inSnapshots = basename(folder) === 'snapshots';
  const repository = inSnapshots ? dirname(folder) : folder;
  const place = join(repository, 'snapshots');
  if (!(await isFolder(place))) return [];
  const main = await readFile(join(repository, 'refs', 'main'), 'utf8').catch(() => '');
  const current = main.trim();
  const found: { path: string; current: boolean; at: number }[] = [];
  for (const name of await namesIn(place)) {
    const path = join(place, name);
    const info = await stat(path).catch(() => null);
    if (info?.isDirectory()) found.push({ path, current: name === current, at: info.mtimeMs });
  }
  return found
    .sort((a, b) => Number(b.current) - Number(a.current) || b.at - a.at || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path);
}

async function kindOf(path: string): Promise<'file' | 'folder'> {
  const shown = clipped(path.replaceAll('\0', '\\0'));
  try {
    const info = await stat(path);
    if (info.isDirectory()) return 'folder';
    if (info.isFile()) return 'file';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new StudioError('file_not_found', `"${shown}" does not exist. Check the name.`, {
        params: { path: shown },
        cause: error,
      });
    }
    const why = code === 'ELOOP' ? 'its links lead in a circle' : code || 'unknown reason';
    throw new StudioError('file_unreadable', `"${shown}" cannot be opened (${why}).`, {
      params: { path: shown, reason: why },
      cause: error,
    });
  }
  throw new StudioError('file_unreadable', `"${shown}" is neither a folder nor a file.`, {
    params: { path: shown, reason: 'neither a folder nor a file' },
  });
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      names.push(entry.name);
      if (names.length >= maxEntries) break;
    }
  } catch {
    // Not readable: nothing is known inside.
  }
  return names.sort();
}

/** The end of a path says more than its beginning. */
function clipped(path: string): string {
  return path.length > 300 ? `...${path.slice(-300)}` : path;
}

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type ModelCheck, StudioError } from '../contract/index.ts';
import { firstNonFinite } from './finite-values.ts';
import { ModelFolder } from './model-folder.ts';
import type { CatalogFile } from './types.ts';

export interface CheckOptions {
  /** Expected sizes and hashes where they are known, by path. */
  expected: ReadonlyMap<string, CatalogFile>;
  signal?: AbortSignal | undefined;
  /** File that is being read, and 0..1 over all bytes. */
  onProgress?: (file: string, fraction: number) => void;
}

/**
 * Reads the files of a model whole where a hash is known to compare with (the catalog's, or the one that the Hugging
 * Face cache names its files by), and otherwise the values of checkpoints, and the beginnings and lengths of the rest.
 */
export async function checkFiles(
  path: string,
  files: readonly string[],
  { expected, signal, onProgress }: CheckOptions,
): Promise<ModelCheck['files']> {
  const folder = new ModelFolder(path);
  const sizes = await Promise.all(files.map((file) => folder.size(file)));
  const total = Math.max(
    1,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  const checked: ModelCheck['files'] = [];
  let before = 0;
  for (const [index, file] of files.entries()) {
    signal?.throwIfAborted();
    const size_bytes = sizes[index]!;
    onProgress?.(file, before / total);
    const problem = (await folder.problem(file)) ?? wrongSize(path, expected.get(file), size_bytes);
    if (problem !== null) {
      const state = problem.code === 'checkpoint_missing' ? ('missing' as const) : ('damaged' as const);
      checked.push({ path: file, state, size_bytes, sha256: null, error: problem.toBody() });
    } else {
      const wanted = expected.get(file)?.sha256 ?? (await cacheHash(join(path, file)));
      const report = (bytes: number) => onProgress?.(file, Math.min(1, (before + bytes) / total));
      checked.push(await compared(path, file, size_bytes, wanted, { signal, report }));
    }
    before += size_bytes;
  }
  onProgress?.(files.at(-1) ?? '', 1);
  return checked;
}

/** Files whose sizes are known to be others. Reads nothing. */
export async function wrongSizes(path: string, expected: readonly CatalogFile[]): Promise<string[]> {
  const folder = new ModelFolder(path);
  const found: string[] = [];
  for (const { path: file, sizeBytes } of expected) {
    if (sizeBytes !== null && sizeBytes !== (await folder.size(file))) found.push(file);
  }
  return found;
}

async function compared(
  folder: string,
  file: string,
  size_bytes: number,
  wanted: string | null,
  { signal, report }: { signal: AbortSignal | undefined; report: (bytes: number) => void },
): Promise<ModelCheck['files'][number]> {
  const about = { path: file, size_bytes };
  if (wanted === null) {
    const error = await notFinite(folder, file, signal, report);
    return { ...about, state: error === null ? 'present' : 'damaged', sha256: null, error };
  }
  try {
    const sha256 = await hashOf(join(folder, file), signal, report);
    if (sha256 === wanted) return { ...about, state: 'verified', sha256, error: null };
    const why = `has the hash ${sha256.slice(0, 12)}... instead of ${wanted.slice(0, 12)}...`;
    const error = damaged(folder, file, why, { wrong_hash: file });
    return { ...about, state: 'damaged', sha256, error: error.toBody() };
  } catch (error) {
    signal?.throwIfAborted();
    const why = `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`;
    return { ...about, state: 'damaged', sha256: null, error: damaged(folder, file, why).toBody() };
  }
}

/** Without a hash, values that no network was trained to are what a damaged download shows by. */
async function notFinite(
  folder: string,
  file: string,
  signal: AbortSignal | undefined,
  report: (bytes: number) => void,
): Promise<ModelCheck['files'][number]['error']> {
  if (!file.endsWith('.safetensors')) return null;
  try {
    const tensors = await new ModelFolder(folder).tensors(file);
    const found = await firstNonFinite(join(folder, file), tensors, { signal, onBytes: report });
    if (found === null) return null;
    const { tensor, element } = found;
    return new StudioError(
      'weights_not_finite',
      `The weights are damaged: tensor "${tensor}" in "${file}" holds a value that is not a finite number (at element ${element}). Download or export the checkpoint again.`,
      { params: { tensor, element, file, path: folder } },
    ).toBody();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof StudioError) return error.toBody();
    const why = `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`;
    return damaged(folder, file, why).toBody();
  }
}

async function hashOf(
  path: string,
  signal: AbortSignal | undefined,
  report: (bytes: number) => void,
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = createReadStream(path, { highWaterMark: 4 * 1024 * 1024, ...(signal ? { signal } : {}) });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    report(bytes);
  }
  return hash.digest('hex');
}

/** The Hugging Face cache stores a large file under its SHA-256 and links to it. */
async function cacheHash(path: string): Promise<string | null> {
  const name = basename(await realpath(path).catch(() => path));
  return /^[0-9a-f]{64}$/.test(name) ? name : null;
}

function wrongSize(folder: string, expected: CatalogFile | undefined, size: number): StudioError | null {
  const whole = expected?.sizeBytes ?? null;
  if (whole === null || whole === size) return null;
  const { path: file } = expected!;
  return damaged(folder, file, `has ${size} of ${whole} bytes`, { wrong_size: file, size, whole });
}

/** It may also be a model of the person's own, which is none the worse for being another. */
function damaged(
  folder: string,
  file: string,
  why: string,
  known: Record<string, string | number> = {},
): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `The file "${file}" in "${folder}" ${why}. Download it again; or, if this is a model of your own, add it under a name of its own.`,
    { params: { file, path: folder, reason: why, ...known } },
  );
}

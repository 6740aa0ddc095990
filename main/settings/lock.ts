import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StudioError } from '../contract/index.ts';

/** Nobody holds a lock this long: its owner was stopped or the machine slept. */
const staleAfterMs = 30_000;

function code(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return code(error) === 'EPERM';
  }
}

/** Remove a lock whose owner is gone. Renamed first, so that of two finders only one removes it. */
function breakStale(lock: string): void {
  try {
    const owner = readFileSync(lock, 'utf8');
    const old = Date.now() - statSync(lock).mtimeMs > staleAfterMs;
    const pid = Number.parseInt(owner, 10);
    if (!old && (Number.isNaN(pid) || alive(pid))) return;
    const aside = `${lock}.${process.pid}.${Date.now()}`;
    renameSync(lock, aside);
    // Another finder was faster and a new owner stood here already: put it back.
    if (readFileSync(aside, 'utf8') !== owner) linkSync(aside, lock);
    rmSync(aside, { force: true });
  } catch {
    // Gone meanwhile: the next attempt to take it decides.
  }
}

let taken = 0;

/**
 * Run `body` while this process alone holds `<path>.lock`. Waits up to `timeoutMs` for another holder.
 * Throws wait_timeout, or output_not_writable where the folder cannot be written.
 */
export async function withFileLock<T>(
  path: string,
  body: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<T> {
  const lock = `${path}.lock`;
  const owner = `${process.pid} ${taken++}`;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(lock, owner, { flag: 'wx' });
      break;
    } catch (error) {
      if (code(error) !== 'EEXIST') throw notWritable(path, error);
      breakStale(lock);
      if (Date.now() > deadline) {
        throw new StudioError(
          'wait_timeout',
          `Another program has held ${lock} for more than ${Math.round(timeoutMs / 1000)} s. ` +
            'Close other copies of Mizuoto, or delete that file, and try again.',
          { params: { path: lock, seconds: Math.round(timeoutMs / 1000) }, retryable: true },
        );
      }
      await sleep(10 + Math.random() * 20);
    }
  }
  try {
    return await body();
  } finally {
    try {
      if (readFileSync(lock, 'utf8') === owner) rmSync(lock, { force: true });
    } catch {
      // Broken by another process that thought us gone.
    }
  }
}

function notWritable(path: string, error: unknown): StudioError {
  const why = code(error) ?? 'unknown reason';
  if (why === 'ENOSPC' || why === 'EDQUOT') {
    return new StudioError(
      'disk_full',
      `There is no space left to write ${path}. Free some space and try again.`,
      {
        params: { path },
        cause: error,
      },
    );
  }
  return new StudioError(
    'output_not_writable',
    `${path} cannot be written (${why}). Check the folder's permissions, or choose another folder.`,
    { params: { path, reason: why }, cause: error },
  );
}

import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * How other programs of the same person find a running studio: one file per process below the studio's own folder,
 * `run/<pid>.json`, which only that person can read, for it holds the token.
 */
const noticeSchema = z.object({
  version: z.literal(1),
  pid: z.number().int().positive(),
  /** Milliseconds since the epoch. */
  started: z.number(),
  kind: z.enum(['server', 'shell']),
  token: z.string().regex(/^[0-9a-f]{64}$/),
  /** Port on 127.0.0.1, or the path of a local socket (Windows: of a named pipe). */
  at: z.union([
    z.object({ port: z.number().int().min(1).max(65_535) }),
    z.object({ socket: z.string().min(1).max(300) }),
  ]),
});
export type StudioNotice = z.infer<typeof noticeSchema>;

const largestNotice = 4096;

export function runFolder(configFolder: string): string {
  return join(configFolder, 'run');
}

/** Makes the folder, for this person alone. */
export async function makeRunFolder(configFolder: string): Promise<string> {
  const folder = runFolder(configFolder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Made earlier, under another umask.
  if (process.platform !== 'win32') await chmod(folder, 0o700);
  return folder;
}

/**
 * Says that this process can be reached. What it resolves with takes that back; so does the end of the process, unless
 * it is killed.
 */
export async function announceStudio(
  configFolder: string,
  studio: Omit<StudioNotice, 'version' | 'pid' | 'started'>,
): Promise<() => void> {
  const folder = await makeRunFolder(configFolder);
  const notice: StudioNotice = { version: 1, pid: process.pid, started: Date.now(), ...studio };
  const path = join(folder, `${process.pid}.json`);
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(JSON.stringify(noticeSchema.parse(notice)));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path).catch(async (error: unknown) => {
    await unlink(temporary).catch(() => {});
    throw error;
  });
  const remove = (): void => {
    process.off('exit', remove);
    try {
      unlinkSync(path);
    } catch {
      // Gone already.
    }
  };
  process.on('exit', remove);
  return remove;
}

/**
 * Studios whose process lives, the newest first. Whether one answers is for the caller to find out. Notices of
 * processes that are gone are removed, with their sockets.
 */
export async function announcedStudios(configFolder: string): Promise<StudioNotice[]> {
  const folder = runFolder(configFolder);
  const names = await readdir(folder).catch(() => [] as string[]);
  const found: StudioNotice[] = [];
  for (const name of names) {
    const pid = Number(/^(\d+)\.json$/.exec(name)?.[1] ?? 0);
    if (pid <= 0) continue;
    if (!isAlive(pid)) {
      for (const stale of [name, `${pid}.sock`]) await unlink(join(folder, stale)).catch(() => {});
      continue;
    }
    const notice = await readNotice(join(folder, name));
    if (notice !== null && notice.pid === pid) found.push(notice);
  }
  return found.sort((a, b) => b.started - a.started);
}

/** Null for what this person did not write, or others could have read or written. */
async function readNotice(path: string): Promise<StudioNotice | null> {
  try {
    const { mode, uid, size, isFile } = await lstat(path).then((stats) => ({
      mode: stats.mode,
      uid: stats.uid,
      size: stats.size,
      isFile: stats.isFile(),
    }));
    if (!isFile || size > largestNotice) return null;
    if (process.platform !== 'win32' && (uid !== process.getuid?.() || (mode & 0o077) !== 0)) return null;
    return noticeSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

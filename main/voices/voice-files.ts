import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../audio/atomic-file.ts';
import { fileSource } from '../audio/byte-source.ts';
import { WavReader } from '../audio/wav-reader.ts';
import { type SavedVoice, StudioError, saidSchema } from '../contract/index.ts';

const maxRecordBytes = 256 * 1024;

const recordSchema = z.object({
  id: z.string().min(1),
  name: z.string().min(1),
  language: z.string().nullable().default(null),
  text: z.string().nullable().default(null),
  seconds: z.number().nonnegative(),
  sample_rate: z.number().int().positive(),
  created_at: z.number(),
  // What an older version said in words that are gone is not worth losing a voice.
  warnings: z.array(saidSchema).catch([]).default([]),
});

export interface DamagedVoice {
  /** Its folder. */
  path: string;
  file: string;
  /** Fits after the file's name. */
  why: string;
}

/** One folder per voice: `voice.json` and `reference.wav`. A folder without both is no voice. */
export class VoiceFiles {
  constructor(readonly folder: string) {}

  /** Also tells which folders hold something that is no voice, and why. */
  async readAll(): Promise<{ voices: SavedVoice[]; unreadable: DamagedVoice[] }> {
    const voices: SavedVoice[] = [];
    const unreadable: DamagedVoice[] = [];
    for (const name of await this.#names()) {
      const path = join(this.folder, name);
      try {
        voices.push(await this.#read(name));
      } catch (error) {
        if (await isFolder(path)) unreadable.push({ path, ...wrongFile(error) });
      }
    }
    voices.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
    return { voices, unreadable };
  }

  /** Which voices are as they were saved, their recordings included, and what is wrong with the others. */
  async inspect(): Promise<{ sound: number; damaged: DamagedVoice[] }> {
    const { voices, unreadable } = await this.readAll();
    const damaged = [...unreadable];
    for (const { id, seconds } of voices) {
      const why = await recordingProblem(this.audioPath(id), seconds);
      if (why !== null) damaged.push({ path: join(this.folder, id), file: 'reference.wav', why });
    }
    return { sound: voices.length + unreadable.length - damaged.length, damaged };
  }

  /** Lower-case names of everything that is there. */
  async ids(): Promise<string[]> {
    return (await readdir(this.folder).catch(() => [])).map((name) => name.normalize('NFC').toLowerCase());
  }

  audioPath(id: string): string {
    return join(this.folder, id, 'reference.wav');
  }

  /** Changes when a voice is added, renamed or removed, whoever does it. */
  async stamp(): Promise<string> {
    const parts: string[] = [];
    for (const name of await this.#names()) {
      const found = await stat(join(this.folder, name, 'voice.json'), { bigint: true }).catch(() => null);
      parts.push(`${name} ${found?.mtimeNs ?? '-'} ${found?.size ?? '-'} ${found?.ino ?? '-'}`);
    }
    return parts.join('\n');
  }

  /**
   * The folder appears under its name only when both files are in it.
   *
   * @throws StudioError `output_not_writable`, `disk_full`
   */
  async create(voice: SavedVoice, wav: Uint8Array): Promise<void> {
    const making = join(this.folder, `.making-${process.pid}-${randomBytes(4).toString('hex')}`);
    try {
      await mkdir(making, { recursive: true });
      await writeFileAtomic(join(making, 'reference.wav'), wav);
      await writeFileAtomic(join(making, 'voice.json'), record(voice));
      await rename(making, join(this.folder, voice.id));
    } catch (error) {
      await rm(making, { recursive: true, force: true }).catch(() => {});
      throw writeError(this.folder, error);
    }
  }

  async update(voice: SavedVoice): Promise<void> {
    await writeFileAtomic(join(this.folder, voice.id, 'voice.json'), record(voice));
  }

  /** It is gone for everyone at once; its files go after that. */
  async remove(id: string): Promise<void> {
    const leaving = join(this.folder, `.removed-${process.pid}-${randomBytes(4).toString('hex')}`);
    try {
      await rename(join(this.folder, id), leaving);
    } catch (error) {
      throw writeError(join(this.folder, id), error);
    }
    await rm(leaving, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }

  /** Left by a program that was ended on the way; those of running ones are younger than an hour. */
  async sweep(now = Date.now()): Promise<void> {
    for (const name of await readdir(this.folder).catch(() => [])) {
      if (!/^\.(making|removed)-/.test(name)) continue;
      const path = join(this.folder, name);
      const found = await stat(path).catch(() => null);
      if (found && now - found.mtimeMs > 3_600_000) {
        await rm(path, { recursive: true, force: true }).catch(() => {});
      }
    }
  }

  async #names(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => !name.startsWith('.')).sort();
  }

  async #read(name: string): Promise<SavedVoice> {
    const path = join(this.folder, name, 'voice.json');
    if ((await stat(path)).size > maxRecordBytes) throw new RangeError('voice.json is too large');
    const parsed = recordSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    if (!(await stat(this.audioPath(name))).isFile()) throw new TypeError('reference.wav is no file');
    // The folder's name counts: a copied folder is a voice of its own.
    return { ...parsed, id: name };
  }
}

async function recordingProblem(path: string, seconds: number): Promise<string | null> {
  try {
    const reader = await WavReader.open(await fileSource(path));
    await reader.close();
    const { info } = reader;
    // What was saved was rounded to milliseconds.
    if (Math.abs(info.seconds - seconds) < 0.002) return null;
    return 'is not the recording that was saved';
  } catch {
    return 'is damaged';
  }
}

function record(voice: SavedVoice): Buffer {
  return Buffer.from(`${JSON.stringify({ version: 1, ...voice }, null, 2)}\n`);
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

function wrongFile(error: unknown): Pick<DamagedVoice, 'file' | 'why'> {
  if (error instanceof z.ZodError) {
    return { file: 'voice.json', why: 'lacks a part of the record' };
  }
  if (error instanceof SyntaxError) return { file: 'voice.json', why: 'is not JSON' };
  if (error instanceof RangeError) return { file: 'voice.json', why: 'is too large' };
  if (error instanceof TypeError) return { file: 'reference.wav', why: 'is no file' };
  const { code, path = 'voice.json' } = error as NodeJS.ErrnoException;
  const why = code === 'ENOENT' ? 'is missing' : 'cannot be read';
  return { file: basename(path), why };
}

function writeError(path: string, error: unknown): StudioError {
  if (error instanceof StudioError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
  const options = { params: { path, reason: code }, cause: error };
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StudioError(
      'disk_full',
      `There is no space left to write "${path}". Free some space.`,
      options,
    );
  }
  return new StudioError(
    'output_not_writable',
    `"${path}" cannot be written (${code}). Check the folder's permissions.`,
    options,
  );
}

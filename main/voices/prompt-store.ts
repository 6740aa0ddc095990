import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../audio/atomic-file.ts';
import { decodePrompt, encodePrompt } from './prompt-file.ts';
import type { PromptArrays, PromptKey, VoicePrompts } from './voice-prompts.ts';

export interface PromptStoreOptions {
  /** Folder of prepared prompts, one folder per voice; null: nothing is kept on the disk. */
  folder: string | null;
  /** Most bytes on the disk; the longest unused go first. Default 512 MiB. */
  diskBytes?: number;
  /** Most bytes in memory, for references that belong to no saved voice. Default 32 MiB. */
  memoryBytes?: number;
}

const MiB = 1024 * 1024;

/** Prepared prompts of saved voices on the disk, those of a request's own reference in memory. */
export class PromptStore implements VoicePrompts {
  readonly #folder: string | null;
  readonly #diskBytes: number;
  readonly #memoryBytes: number;
  /** Least recently used first. */
  readonly #memory = new Map<string, PromptArrays>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ folder, diskBytes = 512 * MiB, memoryBytes = 32 * MiB }: PromptStoreOptions) {
    this.#folder = folder;
    this.#diskBytes = diskBytes;
    this.#memoryBytes = memoryBytes;
  }

  async get(key: PromptKey): Promise<PromptArrays | null> {
    const text = keyText(key);
    const path = this.#path(key, text);
    if (path === null) {
      const held = this.#memory.get(text);
      if (!held) return null;
      this.#memory.delete(text);
      this.#memory.set(text, held);
      return copyOf(held);
    }
    try {
      const arrays = decodePrompt(await readFile(path), text);
      const now = new Date();
      // What was damaged goes at once; what was used stays longest.
      if (arrays === null) await rm(path, { force: true });
      else await utimes(path, now, now).catch(() => {});
      return arrays;
    } catch {
      return null;
    }
  }

  set(key: PromptKey, arrays: PromptArrays): Promise<void> {
    const text = keyText(key);
    const path = this.#path(key, text);
    const held = copyOf(arrays);
    if (path === null) {
      this.#keepInMemory(text, held);
      return Promise.resolve();
    }
    // One after the other, so that the limit holds whatever is prepared at once.
    this.#writing = this.#writing.then(() => this.#write(path, text, held)).catch(() => {});
    return this.#writing;
  }

  /** Everything that was prepared for a voice. */
  async forget(voice: string): Promise<void> {
    await this.#writing;
    if (this.#folder === null || !isPlain(voice)) return;
    await rm(join(this.#folder, voice), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }

  /** Whatever belongs to none of these voices: they were removed by another program, or while one was prepared. */
  async forgetAllBut(voices: readonly string[]): Promise<void> {
    const kept = new Set(voices);
    for (const name of this.#folder === null ? [] : await namesIn(this.#folder)) {
      if (!kept.has(name)) await this.forget(name);
    }
  }

  /** Null: in memory. */
  #path({ reference }: PromptKey, text: string): string | null {
    if (this.#folder === null || reference.voice === null || !isPlain(reference.voice)) return null;
    const name = createHash('sha256').update(text).digest('hex').slice(0, 40);
    return join(this.#folder, reference.voice, `${name}.prompt`);
  }

  #keepInMemory(text: string, arrays: PromptArrays): void {
    this.#memory.delete(text);
    if (bytesOf(arrays) > this.#memoryBytes) return;
    this.#memory.set(text, arrays);
    let bytes = [...this.#memory.values()].reduce((sum, held) => sum + bytesOf(held), 0);
    for (const [oldest, held] of this.#memory) {
      if (bytes <= this.#memoryBytes) break;
      this.#memory.delete(oldest);
      bytes -= bytesOf(held);
    }
  }

  async #write(path: string, text: string, arrays: PromptArrays): Promise<void> {
    const pieces = encodePrompt(text, arrays);
    const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (size > this.#diskBytes) return;
    await this.#makeRoom(size, path);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFileAtomic(path, pieces);
  }

  async #makeRoom(size: number, except: string): Promise<void> {
    const folder = this.#folder!;
    const files: { path: string; bytes: number; at: number }[] = [];
    for (const voice of await namesIn(folder)) {
      for (const name of await namesIn(join(folder, voice))) {
        const path = join(folder, voice, name);
        const found = await stat(path).catch(() => null);
        if (found?.isFile() && path !== except) files.push({ path, bytes: found.size, at: found.mtimeMs });
      }
    }
    let bytes = files.reduce((sum, file) => sum + file.bytes, size);
    for (const file of files.sort((a, b) => a.at - b.at)) {
      if (bytes <= this.#diskBytes) return;
      await rm(file.path, { force: true }).catch(() => {});
      bytes -= file.bytes;
    }
  }
}

function keyText({ reference, model, part }: PromptKey): string {
  return JSON.stringify([reference.hash, model.id, model.version, part]);
}

/** Ids of saved voices are names of folders; nothing else may be one. */
function isPlain(voice: string): boolean {
  return voice !== '' && !/^\.|[\\/:\0]/.test(voice);
}

function copyOf(arrays: PromptArrays): PromptArrays {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.slice()]));
}

function bytesOf(arrays: PromptArrays): number {
  return Object.values(arrays).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

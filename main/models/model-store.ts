import { constants, copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../audio/atomic-file.ts';
import { type Said, StudioError, say } from '../contract/index.ts';
import { fileReason } from '../settings/file-reason.ts';
import { withFileLock } from '../settings/lock.ts';

/** A model that a person added: what `models.json` keeps of it. */
export interface StoredModel {
  id: string;
  engine: string;
  /** What the person called it; null: what it calls itself. */
  name: string | null;
  folder: string;
  /** The studio made the folder. */
  owned: boolean;
  addedAt: number;
}

const currentVersion = 1;
const maxFileBytes = 4 * 1024 * 1024;

const storedSchema = z.object({
  id: z.string().min(1),
  engine: z.string().min(1),
  name: z.string().nullable().default(null),
  folder: z.string().min(1),
  owned: z.boolean().default(false),
  added_at: z.number().default(0),
});

interface Loaded {
  models: StoredModel[];
  /** Each model's whole entry: what another version put there stays. */
  entries: Map<string, Record<string, unknown>>;
  /** Entries that this version cannot read, and other keys of the file: kept when it is written. */
  foreignEntries: unknown[];
  foreign: Record<string, unknown>;
  version: number;
  /** Why the file must not be written: it is there, cannot be read, and could not be kept aside. */
  blocked: string | null;
}

const nothing = (blocked: string | null = null): Loaded => ({
  blocked,
  models: [],
  entries: new Map(),
  foreignEntries: [],
  foreign: {},
  version: currentVersion,
});

/**
 * Which models are installed: `models.json` in the studio's folder. A file that cannot be read is kept aside as
 * `models.json.bak` (never over an older one); single entries that cannot be read stay in the file. Several processes
 * may write: each changes what stands there, under a lock.
 */
export class ModelStore {
  readonly path: string;
  readonly #warn: (said: Said) => void;
  readonly #warned = new Set<string>();
  #stamp = '';
  #loaded: Loaded = nothing();

  constructor(folder: string, warn: (said: Said) => void) {
    this.path = join(folder, 'models.json');
    this.#warn = warn;
  }

  /** As the file says now: a change by another process is seen here. */
  list(): StoredModel[] {
    this.#refresh();
    return this.#loaded.models.map((model) => ({ ...model }));
  }

  /**
   * Changes the list under the lock: `change` gets what stands there now and answers what shall stand there.
   *
   * @throws StudioError `output_not_writable`, `disk_full`, `wait_timeout`; whatever `change` throws
   */
  async update<T>(change: (models: StoredModel[]) => { models: StoredModel[]; result: T }): Promise<T> {
    return withFileLock(this.path, async () => {
      this.#refresh();
      const { blocked } = this.#loaded;
      if (blocked !== null) throw unwritable(this.path, blocked);
      const { models, result } = change(this.list());
      const { entries, foreignEntries, foreign, version } = this.#loaded;
      const written = models.map((model) => ({ ...entries.get(model.id), ...toEntry(model) }));
      const file = { ...foreign, version, models: [...written, ...foreignEntries] };
      await writeFileAtomic(this.path, Buffer.from(`${JSON.stringify(file, null, 2)}\n`));
      this.#stamp = '';
      this.#refresh();
      return result;
    });
  }

  #refresh(): void {
    const stamp = this.#readStamp();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#loaded = stamp === 'none' ? nothing() : this.#read();
  }

  #readStamp(): string {
    try {
      const { ino, mtimeNs, size } = statSync(this.path, { bigint: true });
      return `${ino} ${mtimeNs} ${size}`;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'none' : 'unreadable';
    }
  }

  #read(): Loaded {
    try {
      if (statSync(this.path).size > maxFileBytes) throw new RangeError('it is larger than 4 MiB');
      const text = readFileSync(this.path, 'utf8').replace(/^\ufeff/, '');
      const parsed: unknown = JSON.parse(text);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        throw new TypeError('it is not a JSON object');
      }
      return this.#sort(parsed as Record<string, unknown>);
    } catch (error) {
      return nothing(this.#keepAside(error));
    }
  }

  #sort({ version, models, ...foreign }: Record<string, unknown>): Loaded {
    if (!Array.isArray(models)) throw new TypeError('it holds no list "models"');
    const loaded: Loaded = { ...nothing(), foreign };
    if (typeof version === 'number' && version > currentVersion) {
      loaded.version = version;
      this.#warnOnce(say('models_newer', { path: this.path }));
    }
    const unread: unknown[] = [];
    for (const entry of models) {
      const parsed = storedSchema.safeParse(entry);
      if (!parsed.success || loaded.entries.has(parsed.data.id)) {
        unread.push(entry);
        continue;
      }
      const { added_at, ...rest } = parsed.data;
      loaded.models.push({ ...rest, addedAt: added_at });
      loaded.entries.set(rest.id, entry as Record<string, unknown>);
    }
    loaded.foreignEntries = unread;
    if (unread.length > 0) {
      this.#warnOnce(say('models_left_out', { path: this.path, count: unread.length }));
    }
    return loaded;
  }

  #keepAside(error: unknown): string | null {
    const { path } = this;
    const reason = fileReason(error, 'reading');
    const aside = this.#copyAside();
    this.#warnOnce(
      aside === null
        ? say('models_unreadable', { path, reason })
        : say('models_kept_aside', { path, reason, aside }),
    );
    return aside === null ? reason : null;
  }

  /** Null where there is nothing that could be kept. */
  #copyAside(): string | null {
    for (let attempt = 1; attempt <= 100; attempt++) {
      const aside = `${this.path}.bak${attempt === 1 ? '' : attempt}`;
      try {
        copyFileSync(this.path, aside, constants.COPYFILE_EXCL);
        return aside;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return null;
        if (sameContent(this.path, aside)) return aside;
      }
    }
    return null;
  }

  #warnOnce(said: Said): void {
    if (this.#warned.has(said.message)) return;
    this.#warned.add(said.message);
    this.#warn(said);
  }
}

/** Writing would lose what nobody could read. */
function unwritable(path: string, reason: string): StudioError {
  return new StudioError(
    'output_not_writable',
    `"${path}" cannot be read (${reason}) and was left alone. Check its permissions, or move it away, and try again.`,
    { params: { path, reason, unread: path } },
  );
}

function toEntry({ addedAt, ...rest }: StoredModel): Record<string, unknown> {
  return { ...rest, added_at: addedAt };
}

function sameContent(a: string, b: string): boolean {
  try {
    return statSync(a).size === statSync(b).size && readFileSync(a).equals(readFileSync(b));
  } catch {
    return false;
  }
}

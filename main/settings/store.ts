import { copyFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../audio/atomic-file.ts';
import {
  defaultSettings,
  type Said,
  type Settings,
  StudioError,
  say,
  sayOfError,
  settingsSchema,
} from '../contract/index.ts';
import { fileReason } from './file-reason.ts';
import { withFileLock } from './lock.ts';
import { nearest } from './nearest.ts';
import { checkTogether, chosen, isSettingKey, parsePatch, parseSetting } from './resolve.ts';

export interface SettingsStoreOptions {
  /** Folder of settings.json; made when something is first written. */
  folder: string;
  warn: (said: Said) => void;
}

interface Loaded {
  settings: Settings;
  /** Keys of the file that this version does not know: kept when the file is written. */
  foreign: Record<string, unknown>;
}

const maxFileBytes = 1024 * 1024;

/**
 * The settings of this person: `settings.json` holds only what differs from the defaults. A file that cannot be read
 * as settings is kept aside as `settings.json.bak`; single bad values fall back to their default, with a warning.
 * Several processes may write: each merges its patch into what stands there, under a lock.
 */
export class SettingsStore {
  readonly path: string;
  readonly #warn: (said: Said) => void;
  /** By what they say. */
  readonly #warned = new Map<string, Said>();
  #stamp = '';
  #loaded: Loaded = { settings: defaultSettings(), foreign: {} };
  #listeners = new Set<(settings: Settings) => void>();

  constructor(options: SettingsStoreOptions) {
    this.path = join(options.folder, 'settings.json');
    this.#warn = options.warn;
    this.#refresh();
  }

  /** The settings in force; a change by another process is seen here. */
  get(): Settings {
    if (this.#refresh()) this.#tell();
    return { ...this.#loaded.settings };
  }

  /** What is wrong with the file: what was warned of since it was opened. */
  get problems(): Said[] {
    this.get();
    return [...this.#warned.values()];
  }

  onChange(listener: (settings: Settings) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Throws unknown_setting, invalid_setting, contradictory_settings, output_not_writable, disk_full, wait_timeout. */
  async set(patch: Record<string, unknown>): Promise<Settings> {
    const values = parsePatch(patch);
    await withFileLock(this.path, async () => {
      this.#refresh();
      const settings = { ...this.#loaded.settings, ...values };
      checkTogether(settings);
      const file = { ...this.#loaded.foreign, ...chosen(settings) };
      await writeFileAtomic(this.path, Buffer.from(`${JSON.stringify(file, null, 2)}\n`));
      this.#loaded = { ...this.#loaded, settings };
      this.#stamp = this.#readStamp();
    });
    this.#tell();
    return this.get();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener({ ...this.#loaded.settings });
  }

  #readStamp(): string {
    try {
      const stat = statSync(this.path, { bigint: true });
      return `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    } catch {
      return 'none';
    }
  }

  /** True when the file changed since it was last read. */
  #refresh(): boolean {
    const stamp = this.#readStamp();
    if (stamp === this.#stamp) return false;
    this.#stamp = stamp;
    const before = JSON.stringify(this.#loaded.settings);
    this.#loaded = stamp === 'none' ? { settings: defaultSettings(), foreign: {} } : this.#read();
    return JSON.stringify(this.#loaded.settings) !== before;
  }

  #read(): Loaded {
    let parsed: unknown;
    try {
      if (statSync(this.path).size > maxFileBytes) throw new RangeError('it is larger than 1 MiB');
      parsed = JSON.parse(readFileSync(this.path, 'utf8'));
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        throw new TypeError('it is not a JSON object');
      }
    } catch (error) {
      this.#keepAside(error);
      return { settings: defaultSettings(), foreign: {} };
    }
    return this.#sort(parsed as Record<string, unknown>);
  }

  #sort(file: Record<string, unknown>): Loaded {
    const settings: Record<string, unknown> = defaultSettings();
    const foreign: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(file)) {
      if (!isSettingKey(key)) {
        foreign[key] = value;
        const near = nearest(key, Object.keys(settings));
        this.#warnOnce(
          near
            ? say('settings_near_key', { path: this.path, key, near })
            : say('settings_unknown_key', { path: this.path, key }),
        );
        continue;
      }
      try {
        settings[key] = parseSetting(key, value);
      } catch (error) {
        this.#warnOfError('settings_bad_value', error);
      }
    }
    const typed = settingsSchema.parse(settings);
    try {
      checkTogether(typed);
      return { settings: typed, foreign };
    } catch (error) {
      this.#warnOfError('settings_contradict', error);
      const defaults = defaultSettings();
      const memory = Object.entries(defaults).filter(([key]) => key.startsWith('compute.'));
      return { settings: { ...typed, ...Object.fromEntries(memory) }, foreign };
    }
  }

  #keepAside(error: unknown): void {
    const reason = fileReason(error, 'reading');
    let aside = `${this.path}.bak`;
    for (let n = 2; existsSync(aside); n++) aside = `${this.path}.${n}.bak`;
    try {
      renameSync(this.path, aside);
    } catch {
      try {
        copyFileSync(this.path, aside);
      } catch {
        this.#warnOnce(say('settings_unreadable', { path: this.path, reason }));
        return;
      }
    }
    this.#stamp = this.#readStamp();
    this.#warnOnce(say('settings_kept_aside', { path: this.path, reason, aside }));
  }

  #warnOfError(code: 'settings_bad_value' | 'settings_contradict', error: unknown): void {
    if (!(error instanceof StudioError)) throw error;
    this.#warnOnce(sayOfError(code, error.toBody(), { path: this.path }));
  }

  #warnOnce(said: Said): void {
    if (this.#warned.has(said.message)) return;
    this.#warned.set(said.message, said);
    this.#warn(said);
  }
}

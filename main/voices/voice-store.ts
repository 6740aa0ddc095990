import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { maxVoiceNameLength, type Said, type SavedVoice, StudioError, say } from '../contract/index.ts';
import { withFileLock } from '../settings/lock.ts';
import { nearest } from '../settings/nearest.ts';
import { slugOf } from '../settings/slug.ts';
import { findSavedVoice } from './find-voice.ts';
import { keptSeconds, readReferenceAudio } from './reference-audio.ts';
import { VoiceFiles } from './voice-files.ts';

/** Most saved voices: each is a folder that is looked at when voices are listed. */
const maxVoices = 2000;

export interface NewVoice {
  name: string;
  audio: Uint8Array;
  language: string | null;
  text: string | null;
}

/** The person's own voices: reference recordings with a name, kept in the studio's folder. */
export class VoiceStore {
  readonly #files: VoiceFiles;
  readonly #lock: string;
  readonly #warn: (said: Said) => void;
  readonly #warned = new Set<string>();
  #stamp: string | null = null;
  #voices: SavedVoice[] = [];
  #refreshing: Promise<unknown> = Promise.resolve();

  constructor(folder: string, warn: (said: Said) => void) {
    this.#files = new VoiceFiles(join(folder, 'voices'));
    this.#lock = join(folder, 'voices');
    this.#warn = warn;
  }

  /** Reads the beginning of every recording. */
  inspect(): ReturnType<VoiceFiles['inspect']> {
    return this.#files.inspect();
  }

  /** In order of their making. */
  list(): Promise<SavedVoice[]> {
    const listed = this.#refreshing.catch(() => {}).then(() => this.#refresh());
    this.#refreshing = listed;
    return listed;
  }

  /**
   * By id or name.
   *
   * @throws StudioError `unknown_voice`
   */
  async get(voice: string): Promise<SavedVoice> {
    const voices = await this.list();
    const found = findSavedVoice(voice, voices);
    if (found) return found;
    const names = voices.map(({ name }) => name);
    const shown = voice.length > 60 ? `${voice.slice(0, 57)}...` : voice;
    const near = nearest(voice, names);
    const help = near ? `Did you mean "${near}"?` : `There is: ${names.join(', ') || 'none'}.`;
    throw new StudioError('unknown_voice', `There is no saved voice "${shown}". ${help}`, {
      params: { voice: shown, saved: shown, known: names.join(', ') || '-' },
    });
  }

  /** @throws StudioError `file_unreadable` */
  async audio({ id, name }: SavedVoice): Promise<Uint8Array<ArrayBuffer>> {
    const path = this.#files.audioPath(id);
    try {
      return new Uint8Array(await readFile(path));
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
      throw new StudioError(
        'file_unreadable',
        `The recording of "${name}" cannot be read: "${path}" (${reason}).`,
        {
          params: { path, reason },
          cause: error,
        },
      );
    }
  }

  /**
   * @throws StudioError `invalid_request`, `name_taken`, `file_unreadable`, `reference_unusable`,
   *   `output_not_writable`, `disk_full`, `wait_timeout`
   */
  async add({ audio, ...wanted }: NewVoice): Promise<SavedVoice> {
    const name = checkName(wanted.name);
    const language = checkLanguage(wanted.language);
    const text = checkText(wanted.text);
    const { seconds, sampleRate, wav, warnings } = await readReferenceAudio(audio, keptSeconds);
    return withFileLock(this.#lock, async () => {
      await this.#files.sweep();
      const voices = await this.list();
      if (voices.length >= maxVoices) throw tooMany();
      checkFree(name, voices, null);
      const voice: SavedVoice = {
        id: await this.#freeId(name, voices),
        name,
        language,
        text,
        seconds: Math.round(seconds * 1000) / 1000,
        sample_rate: sampleRate,
        created_at: Date.now(),
        warnings,
      };
      await this.#files.create(voice, wav);
      return voice;
    });
  }

  /** Its recording stays. @throws StudioError as `add`, and `unknown_voice` */
  async update(
    voice: string,
    change: {
      name?: string | undefined;
      language?: string | null | undefined;
      text?: string | null | undefined;
    },
  ): Promise<SavedVoice> {
    return withFileLock(this.#lock, async () => {
      const before = await this.get(voice);
      const after: SavedVoice = {
        ...before,
        ...(change.name === undefined ? {} : { name: checkName(change.name) }),
        ...(change.language === undefined ? {} : { language: checkLanguage(change.language) }),
        ...(change.text === undefined ? {} : { text: checkText(change.text) }),
      };
      checkFree(after.name, await this.list(), before.id);
      await this.#files.update(after);
      return after;
    });
  }

  /** @throws StudioError `unknown_voice`, `output_not_writable`, `wait_timeout` */
  async remove(voice: string): Promise<SavedVoice> {
    return withFileLock(this.#lock, async () => {
      const found = await this.get(voice);
      await this.#files.remove(found.id);
      return found;
    });
  }

  async #refresh(): Promise<SavedVoice[]> {
    const stamp = await this.#files.stamp();
    if (stamp !== this.#stamp) {
      const { voices, unreadable } = await this.#files.readAll();
      this.#voices = voices;
      this.#stamp = stamp;
      for (const { path, file, why } of unreadable) {
        const said = say('voice_left_out', { path, file, why });
        if (!this.#warned.has(said.message)) this.#warn(said);
        this.#warned.add(said.message);
      }
    }
    return this.#voices.map((voice) => ({ ...voice }));
  }

  /** Not that of any folder that is there, readable or not; on most systems case does not count. */
  async #freeId(name: string, voices: readonly SavedVoice[]): Promise<string> {
    const words = voices.map((voice) => voice.name.toLowerCase());
    const taken = new Set([...(await this.#files.ids()), ...words]);
    const base = slugOf(name, 'voice');
    for (let n = 1; ; n++) {
      const id = n === 1 ? base : `${base}-${n}`;
      if (!taken.has(id.toLowerCase())) return id;
    }
  }
}

function checkName(name: string): string {
  const plain = name.normalize('NFC').trim().replace(/\s+/g, ' ');
  if (plain === '' || !/[^\s\p{Cf}]/u.test(plain)) throw badName('is empty');
  if (plain.length > maxVoiceNameLength) throw badName(`has more than ${maxVoiceNameLength} characters`);
  if (/[\p{Cc}\p{Cs}]/u.test(plain)) throw badName('holds characters that cannot be shown');
  if (/^saved:/i.test(plain)) throw badName('begins with "saved:", which has a meaning of its own');
  return plain;
}

function badName(why: string): StudioError {
  return new StudioError('invalid_request', `The name of the voice ${why}. Choose another name.`, {
    params: { call: 'voices', field: 'name', reason: `it ${why}` },
  });
}

function checkLanguage(language: string | null): string | null {
  if (language === null || language.trim() === '') return null;
  try {
    return Intl.getCanonicalLocales(language.trim().replaceAll('_', '-'))[0] ?? null;
  } catch {
    throw new StudioError(
      'invalid_request',
      `"${language.slice(0, 40)}" is not the tag of a language. Write one such as en, zh or pt-BR.`,
      { params: { call: 'voices', field: 'language', reason: 'it is not the tag of a language' } },
    );
  }
}

function checkText(text: string | null): string | null {
  const plain = text?.normalize('NFC').trim() ?? '';
  if (plain === '') return null;
  if (/[\0\p{Cs}]/u.test(plain)) {
    throw new StudioError('text_malformed', 'The transcript holds characters that are no text.', {
      params: { kind: 'transcript', position: plain.search(/[\0\p{Cs}]/u) + 1 },
    });
  }
  return plain;
}

function checkFree(name: string, voices: SavedVoice[], own: string | null): void {
  const lower = name.toLowerCase();
  // Both are asked for by the same word: neither may be another's.
  const other = voices.find(
    ({ id, name: taken }) => id !== own && [id, taken].some((word) => word.toLowerCase() === lower),
  );
  if (!other) return;
  throw new StudioError('name_taken', `There is a voice "${other.name}" already. Choose another name.`, {
    params: { name: other.name },
  });
}

function tooMany(): StudioError {
  return new StudioError(
    'invalid_request',
    `There are ${maxVoices} saved voices, the most that are kept. Remove some.`,
    {
      params: { call: 'voices.add', field: 'name', reason: `there are ${maxVoices} voices already` },
    },
  );
}

import { type ModelEntry, type Said, type SavedVoice, StudioError } from '../contract/index.ts';
import { ModelLibrary } from '../models/model-library.ts';
import type { ModelEngine } from '../models/recognise.ts';
import { PromptStore } from '../voices/prompt-store.ts';
import { VoiceStore } from '../voices/voice-store.ts';
import type { SpeechBackend } from './backend.ts';
import { type LibraryFinding, libraryFindings } from './doctor/library-findings.ts';
import type { Handlers } from './handlers.ts';
import type { Emit } from './job-queue.ts';
import { promptFolder } from './prompt-folder.ts';
import { checkedReference } from './references.ts';
import { resolveVoiceLanguage } from './speech-language.ts';
import type { References, SpeechWorld } from './speech-request.ts';

export interface LibraryOptions {
  configFolder: string;
  cacheFolder: string;
  engines: readonly ModelEngine[];
  emit: Emit;
  warn: (said: Said) => void;
  /** Unloads a model that is loaded; throws where it is in use. */
  unload: (model: string) => Promise<void>;
  /** Forgets what the settings say of a model that is gone. */
  forget: (model: string) => Promise<void>;
  /** Aborted when the host closes. */
  signal: AbortSignal;
}

type LibraryCall = Extract<
  keyof Handlers,
  'models.list' | 'models.find' | 'models.add' | 'models.remove' | 'models.check' | `voices.${string}`
>;

/** What the studio keeps: installed models, saved voices and what was prepared from them. */
export class Library {
  readonly prompts: PromptStore;
  readonly handlers: Pick<Handlers, LibraryCall> = this.#table();
  readonly #models: ModelLibrary;
  readonly #voices: VoiceStore;
  #shown = '';
  #swept = false;

  constructor(private readonly options: LibraryOptions) {
    const { configFolder, cacheFolder, engines, warn } = options;
    this.#models = new ModelLibrary({ folder: configFolder, engines, warn });
    this.#voices = new VoiceStore(configFolder, warn);
    this.prompts = new PromptStore({ folder: promptFolder(cacheFolder) });
  }

  /** Shows the backend the models that are there now, whoever added them. */
  async supply(backend: Pick<SpeechBackend, 'setModels'>): Promise<void> {
    await this.#models.refresh();
    backend.setModels(this.#models.installed());
    this.#tellModels();
  }

  /** What a request can name. */
  async world(): Promise<Omit<SpeechWorld, 'engines' | 'settings'>> {
    const entries = this.#models.entries();
    return {
      voices: await this.#voices.list(),
      catalog: entries
        .filter(({ state }) => state === 'not_installed')
        .map(({ id, engine, sources, abilities }) => ({
          id,
          engine,
          repository: sources[0]?.repository ?? id,
          modes: abilities?.modes ?? [],
        })),
      damaged: entries
        .filter(({ state }) => state === 'damaged')
        .map(({ id, engine, problems }) => ({ id, engine, error: damage(id, problems) })),
      references: this.#references(),
    };
  }

  /** What the doctor says of it. */
  async findings(): Promise<LibraryFinding[]> {
    return libraryFindings(await this.#models.condition(), await this.#voices.inspect());
  }

  #references(): References {
    return {
      read: (audio, text, limits) => checkedReference(audio, { text, voice: null }, limits),
      saved: async (voice, limits) =>
        checkedReference(await this.#voices.audio(voice), { text: voice.text, voice: voice.id }, limits),
    };
  }

  #table(): Pick<Handlers, LibraryCall> {
    return {
      'models.list': async () => {
        await this.#models.refresh();
        this.#tellModels();
        return { models: this.#models.entries() };
      },
      'models.find': async () => ({ found: await this.#models.find() }),
      'models.add': async ({ path, name }) => {
        const model = await this.#models.add(path, name ?? null);
        this.#tellModels();
        return { model };
      },
      'models.remove': async ({ model }) => {
        await this.#models.refresh();
        this.#models.entry(model);
        await this.options.unload(model);
        const removed = await this.#models.remove(model);
        await this.options.forget(model);
        this.#tellModels();
        return removed;
      },
      'models.check': async ({ model }) => {
        const checked = await this.#models.check(model, {
          signal: this.options.signal,
          onProgress: (file, fraction) => this.options.emit('models.checking', { model, file, fraction }),
        });
        this.#tellModels();
        return checked;
      },
      'voices.list': async () => {
        const voices = await this.#voices.list();
        if (!this.#swept) {
          this.#swept = true;
          await this.prompts.forgetAllBut(voices.map(({ id }) => id));
        }
        return { voices };
      },
      'voices.add': async (wanted) =>
        this.#changed(await this.#voices.add({ ...wanted, language: this.#language(wanted.language) })),
      'voices.update': async ({ voice, language, ...change }) => {
        const known = language === undefined ? {} : { language: this.#language(language) };
        return this.#changed(await this.#voices.update(voice, { ...change, ...known }));
      },
      'voices.remove': async ({ voice }) => {
        const removed = await this.#voices.remove(voice);
        await this.prompts.forget(removed.id);
        return this.#changed(removed);
      },
      'voices.audio': async ({ voice }) => ({
        wav: await this.#voices.audio(await this.#voices.get(voice)),
      }),
    };
  }

  /** @throws StudioError `unknown_language` */
  #language(asked: string | null): string | null {
    const spoken = this.#models.entries().flatMap(({ abilities }) => abilities?.languages ?? []);
    return resolveVoiceLanguage(asked, [...new Set(spoken)]);
  }

  async #changed(voice: SavedVoice): Promise<{ voice: SavedVoice }> {
    this.options.emit('voices.changed', { voices: await this.#voices.list() });
    return { voice };
  }

  #tellModels(): void {
    const models = this.#models.entries();
    const shown = JSON.stringify(models);
    const first = this.#shown === '';
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (!first) this.options.emit('models.changed', { models });
  }
}

function damage(id: string, problems: ModelEntry['problems']): StudioError {
  const [problem] = problems;
  return problem
    ? StudioError.fromBody(problem)
    : new StudioError('checkpoint_invalid', `The model "${id}" is damaged.`, { params: { file: id } });
}

import type { Addon } from '../../native/addon.ts';
import type { EngineParameter } from '../contract/runtime.ts';
import type { ParameterValue, SpeakRequest } from '../contract/speech.ts';
import type { ModelFolder } from '../models/model-folder.ts';
import type { CatalogModel, ExpectedWeights, InstalledModel, Recognition } from '../models/types.ts';
import type { ModelSource } from '../runtime/model-source.ts';
import type { StageContext } from '../runtime/types.ts';
import type { VoicePrompts } from '../voices/voice-prompts.ts';

/**
 * What an engine is asked to speak: nothing is left to decide, and all of it was checked against the model's
 * abilities (`main/host/speech-request.ts`).
 */
export interface SpeakTask extends Pick<SpeakRequest, 'text' | 'speed' | 'pitch'> {
  /** Id of the model: the one that was loaded. */
  model: string;
  /** Id of a speaker of the model; empty where the voice comes from `reference` or from `instruct`. */
  voice: string;
  seed: number;
  /** A tag of the model's `languages`; `auto` only where it finds the language itself. */
  language: string;
  /** Null: none. Never blank; present where the model requires it. */
  instruct: string | null;
  /** The voice to clone; present exactly where the model's only mode is `clone`, or the request asked for it. */
  reference: Reference | null;
  /** A value for every parameter of the engine beside speed, pitch, seed and voice; defaults are filled in. */
  parameters: Readonly<Record<string, ParameterValue>>;
}

/** Reference audio, of usable length, loudness and level. */
export interface Reference {
  /** Mono (mean of the channels), -1..1, at `sampleRate`. */
  samples: Float32Array;
  /** As the file has it: resample where the network wants another rate. */
  sampleRate: number;
  /** What is said in it; null where it is not known. */
  text: string | null;
  /** Of samples, rate and text (SHA-256, hexadecimal): the key under which `voicePrompts` keeps what is made of it. */
  hash: string;
  /** The saved voice that it belongs to; null for one request's own. */
  voice: string | null;
}

/** One piece of audio; pieces follow each other without gap or overlap. */
export interface AudioChunk {
  /** Mono, -1..1, at the engine's sample rate; a buffer of its own. */
  samples: Float32Array;
  /** The text that this piece begins to speak; empty where it continues the piece before. */
  text: string;
}

/** What an engine is given for one request: its stages, cancel, progress and warnings. */
export type EngineContext = StageContext;

/** A loaded model that speaks. Requests may overlap; each has its own context. */
export interface Engine {
  readonly id: string;
  /** Wraps each part of a request in a stage, so that only this part's components need memory. */
  readonly phased: boolean;
  /** Samples per second of what `speak` yields. */
  readonly sampleRate: number;
  /**
   * @throws StudioError `text_empty`, `text_not_speakable`, `text_malformed`, `invalid_request`, `cancelled`,
   *   `out_of_device_memory`
   */
  speak(task: SpeakTask, ctx: EngineContext): AsyncIterable<AudioChunk>;
  /** Working memory of a request in bytes, largest stage: for plans made before it runs. */
  memoryRequired(task: SpeakTask): number;
  /** Drops graphs and tables. The weights belong to the runtime. */
  unload(): Promise<void>;
}

/** A model small enough for every test, and what to say with it. */
export interface TinyModel {
  /** The way of the engine that it takes, in words; unique within the engine: `named speaker`, `cloning`. */
  name: string;
  /** As from `EngineDefinition.model`, under an id of its own. */
  model: ModelSource<Engine>;
  /** Short: it is spoken about ten times, on one thread, in under a second each. It takes every stage of this way. */
  task: SpeakTask;
}

/** What the studio gives to engines. */
export interface EngineServices {
  addon: Addon;
  /** Prepared prompts of references, kept per voice and model. */
  voicePrompts: VoicePrompts;
}

/** What is the same for all models of an engine. */
export interface EngineDescription {
  name: string;
  description: string;
  licence: string;
  /** The same in other languages, where it is more than a name. */
  licence_in?: { 'zh-CN': string };
  /** Also those of `SpeakTask.parameters`: their range and default are checked and filled in before a task is made. */
  parameters: EngineParameter[];
}

/** An engine as the studio knows it, loaded or not. */
export interface EngineDefinition {
  readonly id: string;
  readonly description: EngineDescription;
  /** Models that are part of the installation; cheap, reads no weights. */
  builtIn(): InstalledModel[];
  /** Models that can be had elsewhere. */
  readonly catalog: readonly CatalogModel[];
  /**
   * Looks at a folder's configuration; null where it is not one of this engine's. Reads no weights. What is missing or
   * wrong goes to `problems`, not to an exception. Absent: the engine takes no folders.
   */
  recognise?(folder: ModelFolder): Promise<Recognition | null>;
  /**
   * The weights that a recognised folder's configuration describes (`expectedWeights`): compared with the headers of its
   * files before the model is taken and at every start, by the rule of `loadWeights`. Cheap, reads no weights. Present
   * where `recognise` is.
   *
   * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`
   */
  weights?(folder: ModelFolder): Promise<ExpectedWeights[]>;
  /**
   * Reads the files beside the weights as loading does, such as a vocabulary: before a model is added, and when it is
   * checked. Absent: there are none.
   *
   * @throws StudioError `checkpoint_missing`, `checkpoint_invalid` for those that do not fit
   */
  inspect?(folder: ModelFolder): Promise<void>;
  /** How that model is loaded; hand it to `RuntimeService.acquire`. Its id is the model's id. */
  model(services: EngineServices, model: InstalledModel): ModelSource<Engine>;
  /**
   * Models with which the streaming test (`streaming.test.ts`) runs this engine on any machine, by the code that real
   * weights take: at least one, without a download. Random weights in the checkpoint's real layout, one model per way of
   * speaking that has stages of its own. Something has to stream: at least one component needs several units of 64 KiB
   * or more (name them by `memoryUnits` where the lists stay under 1 MB).
   *
   * @param folder an empty folder to write checkpoints to; the caller removes it.
   */
  tiny(services: EngineServices, folder: string): Promise<TinyModel[]>;
}

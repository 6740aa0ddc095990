import type { Addon } from '../../native/addon.ts';
import type { EngineInfo } from '../contract/runtime.ts';
import type { SpeakRequest } from '../contract/speech.ts';
import type { ModelSource } from '../runtime/loaded-models.ts';
import type { StageContext } from '../runtime/types.ts';

/** What an engine is asked to speak: nothing is left to decide. */
export interface SpeakTask extends Pick<SpeakRequest, 'text' | 'speed' | 'pitch'> {
  voice: string;
  seed: number;
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

/** An engine as the catalog knows it, loaded or not. */
export interface EngineDefinition {
  readonly id: string;
  /** Cheap: reads no weights. */
  info(): EngineInfo;
  /** The model that speaks a voice; hand it to `RuntimeService.acquire`. */
  model(addon: Addon, voice: string): ModelSource<Engine>;
  /**
   * Models with which the streaming test (`streaming.test.ts`) runs this engine on any machine, by the code that real
   * weights take: at least one, without a download. Random weights in the checkpoint's real layout, one model per way of
   * speaking that has stages of its own. Something has to stream: at least one component needs several units of 64 KiB
   * or more (name them by `memoryUnits` where the lists stay under 1 MB).
   *
   * @param folder an empty folder to write checkpoints to; the caller removes it.
   */
  tiny(addon: Addon, folder: string): Promise<TinyModel[]>;
}

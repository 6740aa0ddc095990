import type { ModelAbilities, StudioError } from '../contract/index.ts';
import type { StoredTensor } from './safetensors-header.ts';

/** A model in the catalog: what it is, and where its files are to be had. */
export interface CatalogModel {
  /** `engine:variant` */
  id: string;
  engine: string;
  name: string;
  licence: string;
  /** `owner/name` on each site; null where it is not there. */
  huggingface: string | null;
  modelscope: string | null;
  /** All that the engine reads; sizes and hashes where they are known. */
  files: readonly CatalogFile[];
  /** Of the download, as far as it is known. */
  sizeBytes: number;
  abilities: ModelAbilities;
}

export interface CatalogFile {
  /** Relative to the folder, with `/`. */
  path: string;
  sizeBytes: number | null;
  /** Lower-case hexadecimal. */
  sha256: string | null;
}

/** What an engine finds in a folder that it knows as its own. */
export interface Recognition {
  /** Short and stable, for the model's id: `0.6b-custom-voice`. Lower case letters, digits, `.` and `-`. */
  variant: string;
  name: string;
  sampleRate: number;
  /** As the folder's own configuration says: its speakers, its languages. */
  abilities: ModelAbilities;
  /** Every file that loading reads, relative with `/`; also those that are missing. */
  files: string[];
  /** What is wrong: `ModelFolder.problems` for the files above, and whatever the engine sees in the configuration. */
  problems: StudioError[];
}

/** Weights that a model's configuration describes: what a file has to hold to belong to it. */
export interface ExpectedWeights {
  /** Relative to the folder, with `/`; it may be split into parts. */
  file: string;
  /** What does not fit, by the first few tensors and their count; null: all fits. */
  problem(tensors: readonly StoredTensor[], folder: string): StudioError | null;
}

/** A model whose files are on this computer. */
export interface InstalledModel {
  /** `engine` or `engine:variant`; `engine:name` where the person chose one. */
  id: string;
  engine: string;
  variant: string;
  name: string;
  folder: string;
  sampleRate: number;
  abilities: ModelAbilities;
  files: readonly string[];
  sizeBytes: number;
  /** Changes whenever a file of the model does: part of the key of whatever is kept about it. */
  version: string;
  builtIn: boolean;
}

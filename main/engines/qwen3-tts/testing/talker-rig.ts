import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Checkpoint, Device, WeightStore } from '../../../../native/addon.ts';
import { decideUnits } from '../../../memory/units.ts';
import { loadWeights } from '../../../nn/checkpoint.ts';
import type { DTypePolicy } from '../../../nn/dtypes.ts';
import type { Module } from '../../../nn/module.ts';
import { addon } from '../../../nn/testing/devices.ts';
import { CodePredictor, codePredictorName } from '../code-predictor.ts';
import { readQwen3TtsConfig } from '../config.ts';
import { FrameGenerator } from '../generate.ts';
import { PromptEmbedder, type PromptRow, type TalkerPrompt, TextTable } from '../generate-prompt.ts';
import { Talker, TextEmbedding, talkerName, textEmbeddingName } from '../talker.ts';

const folder = new URL('../fixtures/', import.meta.url);

/** One case of fixtures/talker.json, as upstream generated it. */
export interface TalkerCase {
  name: string;
  model: string;
  prompt: TalkerPrompt;
  codes: number[][];
  codesByEnd: Record<string, number[][]>;
}

interface StoredCase {
  model: string;
  rows: { text: number; codec?: { id: number } | { vector: string } | { codes: number[] } }[];
  trailing: number[];
  pad: number;
  codes: number[][];
  codes_by_end?: Record<string, number[][]>;
}

export function openTalkerFixtures(): Promise<Checkpoint> {
  return addon.openCheckpoint([fileURLToPath(new URL('talker.safetensors', folder))]);
}

export function talkerCases(fixtures: Checkpoint): TalkerCase[] {
  const stored = JSON.parse(readFileSync(new URL('talker.json', folder), 'utf8')) as Record<
    string,
    StoredCase
  >;
  return Object.entries(stored).map(([name, { model, rows, trailing, pad, codes, codes_by_end }]) => {
    const row = ({ text, codec }: StoredCase['rows'][number]): PromptRow => {
      if (codec === undefined) return { text };
      return { text, codec: 'vector' in codec ? { vector: fixtures.readFloat32(codec.vector) } : codec };
    };
    const prompt = { rows: rows.map(row), trailing, pad };
    return { name, model, prompt, codes, codesByEnd: codes_by_end ?? {} };
  });
}

/** Which units are on the device: -1 is the fixed part. */
export type Place = (store: WeightStore) => Promise<void>;

export const resident: Place = async (store) => {
  for (let unit = -1; unit < store.unitCount; unit += 1) await store.place(unit);
};
export const half: Place = async (store) => {
  for (let unit = -1; unit < store.unitCount; unit += 2) await store.place(unit);
};
export const streamed: Place = async (store) => {
  await store.place(-1);
};

/** Text table, talker and code predictor of a tiny checkpoint. */
export class TalkerRig {
  private constructor(
    readonly device: Device,
    readonly cpu: Device,
    readonly checkpoint: Checkpoint,
    readonly stores: WeightStore[],
    readonly talker: Talker,
    readonly predictor: CodePredictor,
    readonly text: TextTable,
    readonly embedder: PromptEmbedder,
    readonly eos: number,
  ) {}

  static async open(
    device: Device,
    model: string,
    options: { dtype?: DTypePolicy; place?: Place } = {},
  ): Promise<TalkerRig> {
    const path = fileURLToPath(new URL(`tiny/${model}`, folder));
    const config = (await readQwen3TtsConfig(path)).model.talker_config;
    const checkpoint = await addon.openCheckpoint([`${path}/model.safetensors`]);
    const cpu = await addon.openDevice({ name: 'CPU', threads: 1 });
    const stores: WeightStore[] = [];
    const load = async <T extends Module>(
      component: string,
      module: T,
      rename: (name: string) => string | null,
      target: Device,
    ): Promise<T> => {
      // Every layer of a tiny model is below the size from which a unit is worth a copy.
      const { unitOf, unitModules } = decideUnits(module, { bytesOf: ({ elements }) => 1024 * elements });
      const { dtype = 'keep' } = options;
      const weights = { component, device: target, rename, unitOf, unitModules, dtype };
      const { store } = await loadWeights(addon, module, checkpoint, weights);
      store.bind(target);
      stores.push(store);
      await (target === cpu ? resident : (options.place ?? resident))(store);
      return module;
    };
    const table = await load('text embedding', new TextEmbedding(config), textEmbeddingName, cpu);
    const talker = await load('talker', new Talker(config), talkerName, device);
    const predictor = await load('code predictor', new CodePredictor(config), codePredictorName, device);
    const text = new TextTable(addon, cpu, table);
    const embedder = new PromptEmbedder(addon, device, { talker, predictor, text });
    if (options.place !== undefined && options.place !== resident) {
      const bytes = stores
        .slice(1)
        .flatMap((store) => Array.from({ length: store.unitCount }, (_, unit) => store.unitBytes(unit)));
      await device.setStreamer({ slots: 2, slotBytes: Math.max(...bytes), prefetch: true });
    }
    const eos = config.codec_eos_token_id;
    return new TalkerRig(device, cpu, checkpoint, stores, talker, predictor, text, embedder, eos);
  }

  generator(eos = this.eos): FrameGenerator {
    const { talker, predictor } = this;
    return new FrameGenerator(addon, this.device, { talker, predictor, ids: { codec_eos_token_id: eos } });
  }

  async dispose(): Promise<void> {
    await this.embedder.dispose();
    await this.text.dispose();
    await this.device.setStreamer(null);
    for (const store of this.stores) await store.dispose();
    this.checkpoint.close();
    await this.cpu.close();
  }
}

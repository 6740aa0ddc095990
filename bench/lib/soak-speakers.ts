import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../main/engines/engine.ts';
import { engines } from '../../main/engines/registry.ts';
import { voiced } from '../../main/host/voiced.ts';
import type { Lease, ModelSource } from '../../main/runtime/model-source.ts';
import { TwoStageEngine, type TwoStageShape } from '../../main/runtime/testing/two-stage-engine.ts';
import type { StageContext } from '../../main/runtime/types.ts';
import { noVoicePrompts } from '../../main/voices/voice-prompts.ts';
import type { Addon } from '../../native/addon.ts';

/** A model and what it is asked to say; the same seed must always give the same sound. */
export interface Speaker {
  name: string;
  model: ModelSource<unknown>;
  seeds: readonly number[];
  /** How long a request takes: where a cancel after some milliseconds falls. */
  typicalMs: number;
  /** SHA-256 of the samples. */
  speak(lease: Lease<unknown>, seed: number, context: StageContext): Promise<string>;
}

const shapes: Record<string, TwoStageShape> = {
  small: { talkerBlocks: 2, decoderBlocks: 3 },
  half: { talkerBlocks: 4, decoderBlocks: 6, dtype: 'f16' },
  large: { talkerBlocks: 8, decoderBlocks: 20 },
};

/** The test engine in three sizes, and every engine of the studio with its tiny models. */
export async function soakSpeakers(addon: Addon, folder: string): Promise<Speaker[]> {
  const speakers: Speaker[] = Object.entries(shapes).map(([name, shape]) => ({
    name,
    model: TwoStageEngine.source(addon, shape, name),
    seeds: [1, 2, 3],
    typicalMs: 0,
    speak: (lease, seed, context) => hashOf((lease as Lease<TwoStageEngine>).value.speak(seed, 4, context)),
  }));
  for (const engine of engines) {
    const own = join(folder, engine.id);
    mkdirSync(own);
    for (const { name, model, task } of await engine.tiny({ addon, voicePrompts: noVoicePrompts }, own)) {
      speakers.push({
        name: `${engine.id}, ${name}`,
        model,
        seeds: [1, 2],
        typicalMs: 0,
        speak: (lease, seed, context) =>
          hashOf(samplesOf(voiced(lease as Lease<Engine>, { ...task, seed }, context))),
      });
    }
  }
  return speakers;
}

async function* samplesOf(chunks: AsyncIterable<{ samples: Float32Array }>): AsyncIterable<Float32Array> {
  for await (const { samples } of chunks) yield samples;
}

async function hashOf(chunks: AsyncIterable<Float32Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const { buffer, byteOffset, byteLength } of chunks) {
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}

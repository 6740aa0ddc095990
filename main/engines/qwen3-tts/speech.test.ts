import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../native/addon.ts';
import { addon } from '../../nn/testing/devices.ts';
import { largestDifference } from '../../nn/testing/fixtures.ts';
import type { Reference, SpeakTask } from '../engine.ts';
import { EngineRig, greedy, type TinyKind } from './testing/engine-rig.ts';

/** As make_speech.py asked upstream. */
interface Case {
  model: TinyKind;
  text: string;
  language: string;
  speaker?: string;
  instruct?: string;
  ref_text?: string;
  x_vector_only_mode?: boolean;
  non_streaming_mode?: boolean;
  limit: number;
}

const fixtures = path.join(import.meta.dirname, 'fixtures');
const cases: Record<string, Case> = JSON.parse(readFileSync(path.join(fixtures, 'speech.json'), 'utf8'));
const tags: Record<string, string> = { Auto: 'auto', Chinese: 'zh', English: 'en', German: 'de' };

let spoken: Checkpoint;
beforeAll(async () => {
  spoken = await addon.openCheckpoint([path.join(fixtures, 'speech.safetensors')]);
});
afterAll(() => spoken.close());

function taskOf({ text, language, speaker, instruct, model, ...asked }: Case): Partial<SpeakTask> {
  const layout =
    asked.non_streaming_mode === undefined ? 'auto' : asked.non_streaming_mode ? 'whole' : 'interleaved';
  const reference: Reference | null =
    model === 'base'
      ? {
          samples: spoken.readFloat32('reference'),
          sampleRate: 24_000,
          text: asked.ref_text ?? null,
          hash: 'h',
          voice: null,
        }
      : null;
  return {
    text,
    language: tags[language]!,
    voice: speaker ?? '',
    instruct: instruct ?? null,
    reference,
    parameters: { ...greedy, prompt_layout: layout },
  };
}

/** Outputs of the order of 0.2, after up to 96 frames of 30 passes each. */
const tolerance = 2e-5;

/** The tiny weights are bfloat16 numbers, so that both types hold the same; upstream computed in float32. */
describe.each(['f32', 'keep'] as const)('greedy, weights %s, against upstream', (dtype) => {
  it.each(Object.entries(cases))('%s', async (name, asked) => {
    const rig = await EngineRig.open(asked.model, { dtype });
    try {
      const { samples, ctx } = await rig.speak(taskOf(asked));
      const theirs = spoken.readFloat32(`${name}/samples`);
      expect(samples.length).toBe(theirs.length);
      expect(largestDifference(samples, theirs)).toBeLessThan(tolerance);
      const cut = theirs.length / 80 === asked.limit;
      expect(ctx.warnings.map(({ code }) => code)).toEqual(cut ? ['speech_cut'] : []);
    } finally {
      await rig.close();
    }
  });
});

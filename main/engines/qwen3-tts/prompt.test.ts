import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readQwen2Tokenizer } from '../../text/tokenizers/qwen2.ts';
import { readQwen3TtsConfig } from './config.ts';
import type { PromptRow, TalkerPrompt } from './generate-prompt.ts';
import { layOutPrompt, type PromptVoice } from './prompt.ts';
import { encodePromptText, encodeTranscript, spokenTokens } from './prompt-text.ts';

interface Case {
  model: 'base' | 'custom_voice' | 'voice_design';
  text: string;
  language: string;
  speaker?: string;
  instruct?: string | null;
  transcript?: string | null;
  codes?: number[][] | null;
  non_streaming_mode: boolean;
  positions: string[];
  trailing: string[];
}

const fixtures = path.join(import.meta.dirname, 'fixtures');
const cases: Case[] = JSON.parse(readFileSync(path.join(fixtures, 'prompts.json'), 'utf8'));
const { model: config } = await readQwen3TtsConfig(path.join(fixtures, 'tiny', 'custom_voice'));
const tokenizer = await readQwen2Tokenizer(path.join(fixtures, 'tiny', 'custom_voice'));

function voiceOf({ speaker, transcript, codes }: Case): PromptVoice {
  if (speaker !== undefined) return { kind: 'named', speaker: speaker.toLowerCase() };
  if (transcript === undefined) return { kind: 'free' };
  const spoken = transcript !== null && {
    transcript: encodeTranscript(tokenizer, transcript),
    frames: codes!.map((frame) => Int32Array.from(frame)),
  };
  return { kind: 'reference', vector: new Float32Array(1), spoken: spoken || null };
}

/** As make_prompts.py spells it. */
function spelled({ rows, trailing, pad }: TalkerPrompt): Pick<Case, 'positions' | 'trailing'> {
  const codecPart = (codec: PromptRow['codec']): string[] => {
    if (codec === undefined) return [];
    if ('vector' in codec) return ['s'];
    if ('id' in codec) return [`c${codec.id}`];
    return Array.from(codec.codes, (code, group) => (group === 0 ? `c${code}` : `p${group - 1}:${code}`));
  };
  return {
    positions: rows.map(({ text, codec }) => [`t${text}`, ...codecPart(codec)].join(' ')),
    // Upstream ends with a pad where nothing is left; ours goes on with pads anyway.
    trailing: trailing.length === 0 ? [`t${pad}`] : trailing.map((id) => `t${id}`),
  };
}

it.each(['custom_voice', 'voice_design', 'base'] as const)(
  'lays out every prompt of %s as upstream does',
  async (model) => {
    const asked = cases.filter((found) => found.model === model);
    const { model: own } = await readQwen3TtsConfig(path.join(fixtures, 'tiny', model));
    expect(asked.length).toBeGreaterThan(15);
    for (const found of asked) {
      const language = found.language.toLowerCase();
      const prompt = layOutPrompt(own, {
        ...encodePromptText(tokenizer, found.text, found.instruct ?? null),
        voice: voiceOf(found),
        language: language === 'auto' ? null : language,
        layout: found.non_streaming_mode ? 'whole' : 'interleaved',
      });
      const { positions, trailing } = found;
      expect(spelled(prompt), JSON.stringify(found)).toEqual({ positions, trailing });
    }
  },
);

it('refuses what the model does not have', () => {
  const ask = (text: string, language: string | null, speaker: string) =>
    layOutPrompt(config, {
      ...encodePromptText(tokenizer, text, null),
      voice: { kind: 'named', speaker },
      language,
      layout: 'whole',
    });
  expect(() => ask('hello', 'klingon', 'ryan')).toThrow(/klingon.*chinese/);
  expect(() => ask('hello', null, 'nobody')).toThrow(/nobody.*ryan/);
  expect(() => ask('', null, 'ryan')).toThrow(RangeError);
  expect(spokenTokens(encodePromptText(tokenizer, '', null))).toEqual([]);
});

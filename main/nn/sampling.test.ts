import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Random } from './random.ts';
import { argmax, checkSampling, processLogits, type SamplingOptions, sample } from './sampling.ts';

interface Case {
  options: SamplingOptions;
  previous: number[];
  logits: number[];
  scores: (number | null)[];
}

const cases = JSON.parse(
  readFileSync(new URL('./fixtures/sampling.json', import.meta.url), 'utf8'),
) as Case[];

describe('processLogits', () => {
  it.each(cases.map((entry) => [JSON.stringify(entry.options), entry] as const))(
    'equals transformers for %s',
    (_, { options, previous, logits, scores }) => {
      const processed = processLogits(Float32Array.from(logits), options, previous);
      expect([...processed].map((score) => score === Number.NEGATIVE_INFINITY)).toEqual(
        scores.map((score) => score === null),
      );
      for (const [token, score] of scores.entries()) {
        if (score !== null) expect(processed[token]).toBeCloseTo(score, 5);
      }
    },
  );

  it('penalises a repeated token once, and ignores tokens of other vocabularies', () => {
    const logits = processLogits(Float32Array.of(2, -2, 1), { repetition_penalty: 2 }, [0, 0, 1, 99]);
    expect([...logits]).toEqual([1, -4, 1]);
  });
});

describe('sample', () => {
  it('takes the most likely token, the first of equals, when not sampling', () => {
    const logits = (): Float32Array => Float32Array.of(1, 5, 5, 2);
    expect(sample(logits(), new Random(1), { do_sample: false })).toBe(1);
    expect(argmax(logits())).toBe(1);
  });

  it('draws in proportion to the softmax', () => {
    const random = new Random(2);
    const probabilities = [0.5, 0.3, 0.15, 0.05];
    const draws = 40_000;
    const counts = [0, 0, 0, 0];
    for (let draw = 0; draw < draws; draw += 1) {
      counts[sample(Float32Array.from(probabilities, Math.log), random)]! += 1;
    }
    const chiSquared = counts.reduce(
      (sum, count, token) =>
        sum + (count - draws * probabilities[token]!) ** 2 / (draws * probabilities[token]!),
      0,
    );
    // 3 degrees of freedom: above 16.3 once in a thousand seeds.
    expect(chiSquared).toBeLessThan(16.3);
  });

  it('never draws what the settings rule out', () => {
    const random = new Random(3);
    const options = { top_k: 3, top_p: 0.9, suppress_tokens: [4], temperature: 1.4 };
    for (let draw = 0; draw < 2000; draw += 1) {
      const token = sample(Float32Array.of(0, 1, 2, 3, 9), random, options);
      expect([1, 2, 3]).toContain(token);
    }
  });

  it('draws the same tokens again from a restored state', () => {
    const random = new Random(4);
    const draw = (): number[] =>
      Array.from({ length: 50 }, () => sample(new Random(8).fillNormal(new Float32Array(30)), random));
    const state = random.save();
    const first = draw();
    random.restore(state);
    expect(draw()).toEqual(first);
  });

  it('refuses logits from which nothing can be drawn', () => {
    const random = new Random(5);
    const nothing = Float32Array.of(Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY);
    expect(() => sample(nothing, random)).toThrow(/No token is left/);
    expect(() => sample(Float32Array.of(1, 2), random, { suppress_tokens: [0, 1] })).toThrow(
      /No token is left/,
    );
    expect(() => sample(Float32Array.of(1, Number.NaN, 2), random)).toThrow(RangeError);
    expect(() => sample(Float32Array.of(Number.NaN, 1), random)).toThrow(RangeError);
  });
});

describe('checkSampling', () => {
  it.each([
    { temperature: 0 },
    { temperature: Number.NaN },
    { top_k: -1 },
    { top_k: 1.5 },
    { top_p: 0 },
    { top_p: 1.1 },
    { min_p: -0.1 },
    { repetition_penalty: 0 },
  ])('refuses %o', (options) => {
    expect(() => checkSampling(options)).toThrow(RangeError);
  });

  it('accepts the defaults', () => {
    expect(() => checkSampling({})).not.toThrow();
  });
});

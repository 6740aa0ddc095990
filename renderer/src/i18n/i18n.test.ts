import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorCodes } from '../../../main/contract/errors.ts';
import { partialReasonSchema } from '../../../main/contract/speech.ts';
import { placeholders } from '../errors/describe.ts';
import { en } from './en.ts';
import { type ErrorText, errorsEn } from './errors.en.ts';
import { errorsZh } from './errors.zh-CN.ts';
import { catalogues, createI18n } from './index.ts';
import { zhCN } from './zh-CN.ts';

/** `a.b.c` -> sentence, for all but the errors. */
function flatten(node: object, path = ''): Map<string, string> {
  const out = new Map<string, string>();
  for (const [key, value] of Object.entries(node)) {
    if (path === '' && key === 'errors') continue;
    const full = path === '' ? key : `${path}.${key}`;
    if (typeof value === 'string') out.set(full, value);
    else for (const [inner, text] of flatten(value as object, full)) out.set(inner, text);
  }
  return out;
}

const english = flatten(en);
const chinese = flatten(zhCN);
const plain = (key: string): string => key.replace(/_(one|other)$/, '');
/** `{{count, number}}` is the name `count`. */
const names = (sentence: string): string[] =>
  [...new Set([...sentence.matchAll(/\{\{(\w+)[^}]*\}\}/g)].map((match) => match[1]!))].sort();
const han = /\p{Script=Han}/u;

describe('the two languages', () => {
  it('have the same keys', () => {
    expect([...new Set([...chinese.keys()].map(plain))].sort()).toEqual(
      [...new Set([...english.keys()].map(plain))].sort(),
    );
  });

  it('have the plural forms that each needs', () => {
    for (const [catalogue, language] of [
      [english, 'en'],
      [chinese, 'zh-CN'],
    ] as const) {
      const needed = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      for (const key of new Set([...english.keys()].filter((one) => plain(one) !== one).map(plain))) {
        const found = [...catalogue.keys()]
          .filter((one) => plain(one) === key)
          .map((one) => one.slice(key.length + 1));
        expect(found.sort(), `${language} ${key}`).toEqual([...needed].sort());
      }
    }
  });

  it('fill in the same names', () => {
    for (const [key, sentence] of chinese) {
      const same = english.get(key);
      expect(same, key).toBeDefined();
      expect(names(sentence), key).toEqual(names(same!));
    }
  });

  it('leave nothing untranslated', () => {
    // Names, and the sample: what the built-in voice speaks is English.
    const kept = new Set(['preferences.version', 'script.sampleText', 'results.source.http']);
    for (const [key, sentence] of chinese) {
      // Only names and signs, which differ.
      if (key === 'memory.partText' || key === 'memory.timeline.eventAt') continue;
      if (kept.has(key)) expect(sentence, key).toBe(english.get(key));
      else expect(han.test(sentence), `${key}: ${sentence}`).toBe(true);
    }
    for (const [key, sentence] of english) expect(han.test(sentence), key).toBe(false);
  });

  it('write Chinese with Chinese signs', () => {
    for (const [key, sentence] of chinese) {
      if (!han.test(sentence)) continue;
      // A western comma, colon, question mark or bracket next to a Chinese character.
      expect(/\p{Script=Han}[,;:?!()]|[,;?!()]\p{Script=Han}/u.test(sentence), `${key}: ${sentence}`).toBe(
        false,
      );
    }
  });

  it('use the words of the field', () => {
    const all = JSON.stringify(zhCN);
    for (const word of ['显存', '部分加载', '流式加载', '让出显存', '校准']) expect(all).toContain(word);
    // What is chosen, saved, cloned or designed is 音色; 声音 is what is heard.
    expect(all).not.toMatch(/个声音|我的声音|保存的?声音|”的声音|(?:克隆|设计|描述|添加)声音/);
  });

  it('switch live and count in each language', async () => {
    const i18n = createI18n('en');
    expect(i18n.t('script.words', { count: 1 })).toBe('1 word');
    expect(i18n.t('script.words', { count: 12_345 })).toBe('12,345 words');
    await i18n.changeLanguage('zh-CN');
    expect(i18n.t('script.words', { count: 1 })).toBe('1 个词');
    expect(i18n.t('memory.parts.weights')).toBe('权重');
  });
});

describe('reasons of partial loading', () => {
  it('have a sentence for each', () => {
    for (const { memory } of [en, zhCN]) {
      expect(Object.keys(memory.reasons).sort()).toEqual([...partialReasonSchema.options].sort());
    }
  });
});

describe('error sentences', () => {
  const codes = Object.keys(errorCodes) as ErrorCode[];

  it.each(codes)('%s has one in both languages', (code) => {
    for (const texts of [errorsEn, errorsZh]) {
      const { title, why, fix } = texts[code];
      const fixes = [fix].flat();
      for (const sentence of [title, ...fixes, ...why])
        expect(sentence.trim().length, sentence).toBeGreaterThan(2);
      // The last is used when nothing else is known.
      expect(placeholders(why.at(-1)!)).toEqual([]);
      expect(placeholders(fixes.at(-1)!)).toEqual([]);
      // From the most precise to the least.
      const counts = why.map((sentence) => placeholders(sentence).length);
      expect(counts.at(-1)).toBe(0);
      expect(title).not.toMatch(/[.。]$/);
    }
    const sentences = ({ why, fix }: ErrorText) => [...why, ...[fix].flat()];
    const known = new Set(sentences(errorsEn[code]).flatMap(placeholders));
    for (const sentence of sentences(errorsZh[code])) {
      for (const name of placeholders(sentence)) expect(known.has(name), `${code}: ${name}`).toBe(true);
      expect(han.test(sentence)).toBe(true);
    }
  });

  it('are all different: no sentence stands for two causes', () => {
    for (const texts of [errorsEn, errorsZh]) {
      const titles = codes.map((code) => texts[code].title);
      expect(new Set(titles).size).toBe(titles.length);
    }
  });
});

describe('words outside the catalogues', () => {
  const sources = import.meta.glob('../**/*.{ts,tsx}', {
    query: '?raw',
    import: 'default',
    eager: true,
  }) as Record<string, string>;
  const shipped = Object.entries(sources).filter(
    ([path]) => !/\.test\.tsx?$|\/testing\/|\/bridge\/fake|zh-CN\.ts$/.test(path),
  );

  it('are none in Chinese but the names', () => {
    expect(shipped.length).toBeGreaterThan(50);
    for (const [path, text] of shipped) {
      const code = text.replaceAll('水音', '').replaceAll('简体中文', '');
      expect(han.test(code), path).toBe(false);
    }
  });

  it('are used: each key stands in the code, whole or by its beginning', () => {
    const code = shipped
      .filter(([path]) => !path.includes('/i18n/'))
      .map(([, text]) => text)
      .join('\n');
    const unused = [...english.keys()].map(plain).filter((key) => {
      if (code.includes(`'${key}'`)) return false;
      const parts = key.split('.');
      return !code.includes(`\`${parts.slice(0, -1).join('.')}.\${`);
    });
    expect([...new Set(unused)]).toEqual([]);
  });

  it('have a catalogue for every language of the settings', () => {
    expect(Object.keys(catalogues)).toEqual(['en', 'zh-CN']);
  });
});

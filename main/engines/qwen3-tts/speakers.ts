import type { Speaker } from '../../contract/models.ts';
import type { SpokenNames } from './kinds.ts';

/** The speakers of the published CustomVoice models: what each sounds like, and the language it speaks best. */
const published: Readonly<Record<string, Pick<Speaker, 'language' | 'description' | 'description_in'>>> = {
  vivian: {
    language: 'zh',
    description: 'A young woman; bright, with a little edge.',
    description_in: { 'zh-CN': '年轻女声，明亮，略带锋芒。' },
  },
  serena: {
    language: 'zh',
    description: 'A young woman; warm and gentle.',
    description_in: { 'zh-CN': '年轻女声，温暖柔和。' },
  },
  uncle_fu: {
    language: 'zh',
    description: 'An older man; low and mellow.',
    description_in: { 'zh-CN': '年长男声，低沉醇厚。' },
  },
  dylan: {
    language: 'zh',
    description: 'A young man from Beijing; clear. Speaks the Beijing dialect.',
    description_in: { 'zh-CN': '北京青年男声，清澈，说北京话。' },
  },
  eric: {
    language: 'zh',
    description: 'A man from Chengdu; lively, slightly husky. Speaks the Sichuan dialect.',
    description_in: { 'zh-CN': '成都男声，活泼，略带沙哑，说四川话。' },
  },
  ryan: {
    language: 'en',
    description: 'A man; dynamic, with a strong rhythm.',
    description_in: { 'zh-CN': '男声，富有活力，节奏感强。' },
  },
  aiden: {
    language: 'en',
    description: 'An American man; sunny, clear in the middle range.',
    description_in: { 'zh-CN': '美国男声，阳光，中音清晰。' },
  },
  ono_anna: {
    language: 'ja',
    description: 'A Japanese woman; playful, light and quick.',
    description_in: { 'zh-CN': '日本女声，俏皮，轻快灵巧。' },
  },
  sohee: {
    language: 'ko',
    description: 'A Korean woman; warm, full of feeling.',
    description_in: { 'zh-CN': '韩国女声，温暖，感情丰富。' },
  },
};

/** Dialects of the published models. */
const dialects: Readonly<Partial<Record<string, string>>> = {
  beijing_dialect: '北京话',
  sichuan_dialect: '四川话',
};

/** The speakers of a model's own configuration; those of the published models first, in their order. */
export function speakersOf({ spk_id, spk_is_dialect }: SpokenNames): Speaker[] {
  const known = Object.keys(published).filter((id) => id in spk_id);
  const others = Object.keys(spk_id).filter((id) => !(id in published));
  return [...known, ...others].map((id) => {
    const dialect = spk_is_dialect[id];
    const about = published[id] ?? {
      language: dialect ? 'zh' : 'en',
      ...(dialect
        ? {
            description: `Speaks ${dialect.replaceAll('_', ' ')}.`,
            description_in: { 'zh-CN': `说${dialects[dialect] ?? dialect}。` },
          }
        : { description: '' }),
    };
    return { id, name: id.split('_').map(capitalised).join(' '), ...about };
  });
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

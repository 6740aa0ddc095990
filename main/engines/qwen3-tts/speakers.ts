import type { Speaker } from '../../contract/models.ts';
import type { SpokenNames } from './kinds.ts';

/** The speakers of the published CustomVoice models: what each sounds like, and the language it speaks best. */
const published: Readonly<Record<string, Pick<Speaker, 'language' | 'description'>>> = {
  vivian: { language: 'zh', description: 'A young woman; bright, with a little edge.' },
  serena: { language: 'zh', description: 'A young woman; warm and gentle.' },
  uncle_fu: { language: 'zh', description: 'An older man; low and mellow.' },
  dylan: { language: 'zh', description: 'A young man from Beijing; clear. Speaks the Beijing dialect.' },
  eric: {
    language: 'zh',
    description: 'A man from Chengdu; lively, slightly husky. Speaks the Sichuan dialect.',
  },
  ryan: { language: 'en', description: 'A man; dynamic, with a strong rhythm.' },
  aiden: { language: 'en', description: 'An American man; sunny, clear in the middle range.' },
  ono_anna: { language: 'ja', description: 'A Japanese woman; playful, light and quick.' },
  sohee: { language: 'ko', description: 'A Korean woman; warm, full of feeling.' },
};

/** The speakers of a model's own configuration; those of the published models first, in their order. */
export function speakersOf({ spk_id, spk_is_dialect }: SpokenNames): Speaker[] {
  const known = Object.keys(published).filter((id) => id in spk_id);
  const others = Object.keys(spk_id).filter((id) => !(id in published));
  return [...known, ...others].map((id) => {
    const dialect = spk_is_dialect[id];
    const about = published[id] ?? {
      language: dialect ? 'zh' : 'en',
      description: dialect ? `Speaks ${dialect.replaceAll('_', ' ')}.` : '',
    };
    return { id, name: id.split('_').map(capitalised).join(' '), ...about };
  });
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

import { createContext, useContext } from 'react';
import { useTranslation } from 'react-i18next';
import { useStore } from 'zustand';
import type { Format } from '../i18n/format.ts';
import { formatFor } from '../i18n/index.ts';
import type { Language } from '../store/settings.ts';
import type { StudioState } from '../store/state.ts';
import type { Studio } from '../store/studio.ts';

export const StudioContext = createContext<Studio | null>(null);

export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (studio === null) throw new Error('A component stands outside the studio.');
  return studio;
}

export function useStudioState<T>(selector: (state: StudioState) => T): T {
  return useStore(useStudio().store, selector);
}

export function useLanguage(): Language {
  const { i18n } = useTranslation();
  return i18n.language === 'zh-CN' ? 'zh-CN' : 'en';
}

export function useFormat(): Format {
  return formatFor(useLanguage());
}

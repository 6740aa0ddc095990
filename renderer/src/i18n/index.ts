import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Language } from '../store/settings.ts';
import { en } from './en.ts';
import { createFormat, type Format } from './format.ts';
import type { Messages } from './messages.ts';
import { zhCN } from './zh-CN.ts';

export const catalogues: Record<Language, Messages> = { en, 'zh-CN': zhCN };

export function createI18n(language: Language): i18n {
  const instance = i18next.createInstance();
  void instance.use(initReactI18next).init({
    lng: language,
    fallbackLng: 'en',
    supportedLngs: ['en', 'zh-CN'],
    resources: {
      en: { translation: en },
      'zh-CN': { translation: zhCN },
    },
    // React escapes; catalogues are part of the bundle, so everything is there at once.
    interpolation: { escapeValue: false },
    initAsync: false,
    showSupportNotice: false,
    returnNull: false,
  });
  return instance;
}

const formats: Partial<Record<Language, Format>> = {};

export function formatFor(language: Language): Format {
  formats[language] ??= createFormat(language);
  return formats[language];
}

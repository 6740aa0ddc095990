import type { Settings } from '../../../main/contract/settings.ts';

export type Language = 'en' | 'zh-CN';

export interface SettingsSlice {
  /** As the host holds them; null until read. */
  settings: Settings | null;
}

export const settingsSlice = (): SettingsSlice => ({ settings: null });

/** Every Chinese locale reads Simplified Chinese, all others English. */
export function resolveLanguage(choice: Settings['ui.language'], systemLocale: string): Language {
  if (choice !== 'system') return choice;
  return /^zh\b/i.test(systemLocale) ? 'zh-CN' : 'en';
}

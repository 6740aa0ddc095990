import type { i18n } from 'i18next';
import { resolveLanguage } from './store/settings.ts';
import type { Studio } from './store/studio.ts';

/**
 * Language and theme follow the settings live. The system's language is the shell's locale, in a browser the
 * browser's; a change of the system's theme needs no script, the style sheet follows it.
 */
export function followAppearance(studio: Studio, language: i18n, root: HTMLElement): () => void {
  const apply = (): void => {
    const { settings, shell } = studio.store.getState();
    if (settings === null) return;
    const theme = settings['ui.theme'];
    if (theme === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme;
    const wanted = resolveLanguage(
      settings['ui.language'],
      shell.kind === 'browser' ? navigator.language : shell.locale,
    );
    if (language.language !== wanted) void language.changeLanguage(wanted);
    root.lang = wanted;
    studio.parts.keeper.keepAppearance({ theme, language: settings['ui.language'] });
  };
  apply();
  const stop = studio.store.subscribe((state, before) => {
    if (state.settings !== before.settings) apply();
  });
  window.addEventListener('languagechange', apply);
  return () => {
    stop();
    window.removeEventListener('languagechange', apply);
  };
}

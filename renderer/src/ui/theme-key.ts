import { useSyncExternalStore } from 'react';

const darkQuery = '(prefers-color-scheme: dark)';

/** Changes whenever the theme in force does. */
export function useThemeKey(): string {
  return useSyncExternalStore(
    (changed) => {
      const query = window.matchMedia(darkQuery);
      const observer = new MutationObserver(changed);
      query.addEventListener('change', changed);
      observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
      return () => {
        query.removeEventListener('change', changed);
        observer.disconnect();
      };
    },
    () => `${document.documentElement.dataset.theme ?? ''} ${window.matchMedia(darkQuery).matches}`,
    () => '',
  );
}

import type { Studio } from './studio.ts';

const pause = 600;

/** Keeps what is being written: a moment after the last key, and at once when the page goes. */
export function keepDraft(studio: Studio, page: Pick<Window, 'addEventListener'>): void {
  let timer: number | null = null;
  const save = (): void => {
    if (timer !== null) studio.parts.clearTimeout(timer);
    timer = null;
    studio.parts.keeper.keepDraft(studio.store.getState().draft);
  };
  studio.store.subscribe((state, before) => {
    if (state.draft === before.draft) return;
    if (timer !== null) studio.parts.clearTimeout(timer);
    timer = studio.parts.setTimeout(save, pause);
  });
  page.addEventListener('pagehide', () => {
    if (timer !== null) save();
  });
}

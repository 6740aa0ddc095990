import type { Studio } from '../store/studio.ts';
import { actionFor } from './registry.ts';

const typingTargets =
  'textarea, input:not([type="checkbox"]):not([type="radio"]), select, [contenteditable="true"]';
const spaceTargets = 'button, summary, a[href], [role="switch"], [role="radio"]';

function isOpenPicker(select: Element | null | undefined): boolean {
  return select != null && CSS.supports('selector(:open)') && select.matches(':open');
}

/** Listens for the window's shortcuts; returns the function that ends it. */
export function listenForKeys(studio: Studio, target: Window): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    // A menu, dialog or field that used the key has said so.
    if (event.defaultPrevented) return;
    const element = event.target instanceof Element ? event.target : null;
    // The picker of a select closes on Esc without saying so.
    if (event.key === 'Escape' && isOpenPicker(element?.closest('select'))) return;
    const state = studio.store.getState();
    const action = actionFor(
      event,
      {
        typing: element?.closest(typingTargets) != null,
        ownsSpace: element?.closest(spaceTargets) != null,
        repeat: event.repeat,
        dialogOpen: state.cheatSheetOpen,
      },
      state,
      state.shell.platform,
    );
    if (action === undefined) return;
    event.preventDefault();
    action.run(studio);
  };
  target.addEventListener('keydown', onKeyDown);
  return () => target.removeEventListener('keydown', onKeyDown);
}

import { X } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useTranslation } from 'react-i18next';
import { chordText } from '../actions/keys.ts';
import { actions } from '../actions/registry.ts';
import { IconButton } from '../ui/Button.tsx';
import { useStudio, useStudioState } from '../ui/studio-context.ts';

/** Every key of the action registry. The backdrop is our own: Radix's overlay writes an inline style sheet. */
export function CheatSheet() {
  const { t } = useTranslation();
  const studio = useStudio();
  const open = useStudioState((state) => state.cheatSheetOpen);
  const platform = useStudioState((state) => state.shell.platform);
  return (
    <Dialog.Root open={open} onOpenChange={(next) => studio.store.setState({ cheatSheetOpen: next })}>
      <Dialog.Portal>
        <div aria-hidden className="fixed inset-0 z-40 bg-(--scrim)" />
        <Dialog.Content
          aria-describedby={undefined}
          // The sheet is to be read: focus on it as a whole, not on the button that closes it.
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            (event.currentTarget as HTMLElement).focus();
          }}
          data-testid="cheat-sheet"
          className="appear fixed inset-0 z-50 m-auto h-fit max-h-[calc(100vh-2rem)] w-110 max-w-[calc(100vw-2rem)] overflow-auto rounded-2xl border border-line bg-raised p-5 shadow-[0_24px_64px_var(--shadow)]"
        >
          <div className="mb-3 flex items-center justify-between">
            <Dialog.Title className="font-semibold text-base">{t('cheatSheet.title')}</Dialog.Title>
            <Dialog.Close asChild>
              <IconButton icon={X} label={t('cheatSheet.close')} />
            </Dialog.Close>
          </div>
          <dl className="divide-y divide-line">
            {actions.map((action) => (
              <div key={action.id} className="flex items-center justify-between gap-4 py-2">
                <dt>{t(`actions.${action.id}`)}</dt>
                <dd className="flex flex-none items-center gap-1.5 text-ink-soft text-xs">
                  {action.chords.map((chord, index) => (
                    <span key={chord.key} className="flex items-center gap-1.5">
                      {index > 0 && t('cheatSheet.or')}
                      <kbd className="min-w-7 rounded-md border border-line bg-sunken px-1.5 py-0.5 text-center font-sans text-ink">
                        {chordText(chord, platform)}
                      </kbd>
                    </span>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
          <p className="mt-3 text-ink-soft text-xs">{t('cheatSheet.notWhileTyping')}</p>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

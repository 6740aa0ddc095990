import { Keyboard, Settings2 } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useTranslation } from 'react-i18next';
import { actionKeys } from '../actions/registry.ts';
import { changeSetting } from '../store/commands.ts';
import { Button } from '../ui/Button.tsx';
import { Segments } from '../ui/Segments.tsx';
import { useStudio, useStudioState } from '../ui/studio-context.ts';
import { Tip } from '../ui/Tip.tsx';

/** Language and theme, in sight of every screen. Both are the host's settings. */
export function Preferences() {
  const { t } = useTranslation();
  const studio = useStudio();
  const settings = useStudioState((state) => state.settings);
  const shell = useStudioState((state) => state.shell);
  const version = useStudioState((state) => state.host?.version ?? state.shell.version);
  return (
    <Popover.Root>
      <Tip text={t('preferences.open')} side="bottom">
        <Popover.Trigger asChild>
          <button
            type="button"
            data-testid="preferences"
            aria-label={t('preferences.open')}
            className="inline-flex size-8 flex-none items-center justify-center rounded-lg text-ink-soft hover:bg-hover hover:text-ink data-[state=open]:bg-hover"
          >
            <Settings2 aria-hidden size={17} />
          </button>
        </Popover.Trigger>
      </Tip>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          aria-label={t('preferences.open')}
          className="appear z-40 w-80 max-w-[calc(100vw-1rem)] space-y-4 rounded-xl border border-line bg-raised p-4 shadow-[0_16px_48px_var(--shadow)]"
        >
          {settings !== null && (
            <>
              <div>
                <p className="mb-1.5 text-ink-soft text-xs">{t('preferences.language')}</p>
                <Segments
                  label={t('preferences.language')}
                  value={settings['ui.language']}
                  options={[
                    { value: 'system', text: t('preferences.system') },
                    { value: 'en', text: 'English', lang: 'en' },
                    { value: 'zh-CN', text: '简体中文', lang: 'zh-CN' },
                  ]}
                  onChange={(value) => void changeSetting(studio, { 'ui.language': value })}
                />
              </div>
              <div>
                <p className="mb-1.5 text-ink-soft text-xs">{t('preferences.theme')}</p>
                <Segments
                  label={t('preferences.theme')}
                  value={settings['ui.theme']}
                  options={[
                    { value: 'system', text: t('preferences.system') },
                    { value: 'light', text: t('preferences.light') },
                    { value: 'dark', text: t('preferences.dark') },
                  ]}
                  onChange={(value) => void changeSetting(studio, { 'ui.theme': value })}
                />
              </div>
            </>
          )}
          <Popover.Close asChild>
            <Button
              kind="quiet"
              icon={Keyboard}
              className="w-full justify-start px-2"
              onClick={() => studio.store.setState({ cheatSheetOpen: true })}
            >
              {t('preferences.shortcuts')}
              <kbd className="ml-auto font-sans text-ink-soft">
                {actionKeys('cheatSheet', shell.platform)}
              </kbd>
            </Button>
          </Popover.Close>
          <p className="border-line border-t pt-3 text-ink-soft text-xs">
            {t('preferences.version', { version })}
            {shell.kind === 'browser' && <span className="block">{t('preferences.inBrowser')}</span>}
          </p>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

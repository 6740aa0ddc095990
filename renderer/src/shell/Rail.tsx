import { AudioLines, Layers } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { actionKeys } from '../actions/registry.ts';
import { showScreen } from '../store/commands.ts';
import type { Screen } from '../store/ui.ts';
import { useStudio, useStudioState } from '../ui/studio-context.ts';
import { Tip } from '../ui/Tip.tsx';

const entries = [
  { screen: 'generate', icon: AudioLines, action: 'showGenerate' },
  { screen: 'memory', icon: Layers, action: 'showMemory' },
] as const satisfies readonly { screen: Screen; icon: unknown; action: string }[];

export function Rail() {
  const { t } = useTranslation();
  const studio = useStudio();
  const current = useStudioState((state) => state.screen);
  const platform = useStudioState((state) => state.shell.platform);
  return (
    <nav aria-label={t('nav.label')} className="flex w-19 flex-none flex-col gap-1 px-2 py-2">
      {entries.map(({ screen, icon: Icon, action }) => (
        <Tip key={screen} text={t(`actions.${action}`)} keys={actionKeys(action, platform)} side="right">
          <button
            type="button"
            data-testid={`nav-${screen}`}
            aria-current={current === screen ? 'page' : undefined}
            onClick={() => showScreen(studio, screen)}
            className="group flex flex-col items-center gap-1 rounded-xl px-1 py-2.5 text-ink-soft text-xs leading-tight transition-colors hover:bg-hover hover:text-ink aria-[current]:bg-accent-wash aria-[current]:font-semibold aria-[current]:text-accent-ink"
          >
            <Icon aria-hidden size={20} strokeWidth={1.75} />
            {t(`nav.${screen}`)}
          </button>
        </Tip>
      ))}
    </nav>
  );
}

import { useTranslation } from 'react-i18next';
import { dismissRequestError, generate } from '../../store/commands.ts';
import { ErrorCard } from '../../ui/ErrorCard.tsx';
import { useStudio, useStudioState } from '../../ui/studio-context.ts';
import { ActionBar } from './ActionBar.tsx';
import { act } from './ResultRow.tsx';
import { Results } from './Results.tsx';
import { ScriptEditor } from './ScriptEditor.tsx';
import { VoicePanel } from './VoicePanel.tsx';

export function GenerateScreen() {
  const { t } = useTranslation();
  const studio = useStudio();
  const error = useStudioState((state) => state.requestError);
  return (
    <div
      data-testid="screen-generate"
      className="h-full overflow-y-auto px-4 pb-3 max-md:space-y-6 md:flex md:gap-6 md:pl-2"
    >
      <h1 className="sr-only">{t('nav.generate')}</h1>
      <div className="flex min-h-96 min-w-0 grow flex-col gap-3 max-md:h-[calc(100%-3rem)]">
        <ScriptEditor />
        {error !== null && (
          <ErrorCard
            error={error}
            onDismiss={() => dismissRequestError(studio)}
            onAction={(action) => (action === 'retry' ? void generate(studio) : act(studio, null, action))}
          />
        )}
        <ActionBar />
        <Results />
      </div>
      <aside className="px-1 pt-1 md:w-64 md:flex-none md:overflow-y-auto">
        <VoicePanel />
      </aside>
    </div>
  );
}

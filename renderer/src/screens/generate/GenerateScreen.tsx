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
      className="flex h-full gap-6 overflow-y-auto px-4 pb-3 max-md:flex-col md:pl-2"
    >
      <h1 className="sr-only">{t('nav.generate')}</h1>
      <div className="flex min-h-96 min-w-0 grow flex-col gap-3">
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
      <aside className="w-64 flex-none overflow-y-auto px-1 pt-1 max-md:w-full">
        <VoicePanel />
      </aside>
    </div>
  );
}

import { useDeferredValue, useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { editDraft } from '../../store/commands.ts';
import { selectTextLanguage } from '../../store/engines.ts';
import { estimate } from '../../store/estimate.ts';
import { measureText } from '../../store/text-metrics.ts';
import { Button } from '../../ui/Button.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';

/** Where the words are written. Its counts follow at low priority, so that typing never waits for them. */
export function ScriptEditor() {
  const { t } = useTranslation();
  const studio = useStudio();
  const text = useStudioState((state) => state.draft.text);
  const language = useStudioState(selectTextLanguage);
  // The screen opens to write in, the first time and whenever it comes back.
  useEffect(() => document.getElementById('script')?.focus(), []);
  return (
    <div className="flex min-h-44 grow flex-col rounded-2xl border border-line bg-surface shadow-[0_1px_3px_var(--shadow)] focus-within:border-line-strong">
      <textarea
        id="script"
        data-testid="script"
        lang={language}
        aria-label={t('script.label')}
        aria-describedby="script-counts"
        placeholder={t('script.placeholder')}
        spellCheck={false}
        value={text}
        onChange={(event) => editDraft(studio, { text: event.target.value })}
        className="selectable min-h-0 w-full grow resize-none rounded-t-2xl bg-transparent measure pt-6 pb-2 font-script text-lg leading-8 outline-none placeholder:text-ink-soft"
      />
      <div className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 measure pb-2 text-ink-soft text-xs">
        <ScriptCounts text={text} />
        {text === '' ? (
          <Button
            kind="quiet"
            className="-mr-3.5 ml-auto min-h-8"
            data-testid="use-sample"
            onClick={() => {
              editDraft(studio, { text: t('script.sampleText') });
              document.getElementById('script')?.focus();
            }}
          >
            {t('script.sample')}
          </Button>
        ) : (
          <Button
            kind="quiet"
            className="-mr-3.5 ml-auto min-h-8"
            onClick={() => {
              // Through the editor's own undo stack, so that Ctrl+Z brings the text back.
              const area = document.getElementById('script') as HTMLTextAreaElement;
              area.focus();
              area.select();
              if (!document.execCommand('delete')) editDraft(studio, { text: '' });
            }}
          >
            {t('script.clear')}
          </Button>
        )}
      </div>
    </div>
  );
}

function ScriptCounts({ text }: { text: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const deferred = useDeferredValue(text);
  const metrics = useMemo(() => measureText(deferred), [deferred]);
  const seconds = useStudioState((state) => estimate(state, metrics).speechSeconds);
  return (
    <p id="script-counts" data-testid="script-counts" className="flex flex-wrap gap-x-4">
      <span className="sr-only">
        {t('script.counts')}
        {format.colon}
      </span>
      <span>{t('script.characters', { count: metrics.characters })}</span>
      <span>{t('script.words', { count: metrics.words })}</span>
      {metrics.words > 0 && (
        <>
          <Tip text={t('script.durationHint')}>
            <span>{t('script.duration', { duration: format.span(Math.max(1, seconds)) })}</span>
          </Tip>
          <Tip text={t('script.chunksHint')}>
            <span>{t('script.chunks', { count: metrics.sentences })}</span>
          </Tip>
        </>
      )}
    </p>
  );
}

import { Dices, Lock, LockOpen } from 'lucide-react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { editDraft, rollSeed } from '../../store/commands.ts';
import { maxSeed } from '../../store/draft.ts';
import { parameterOf, selectEngine, selectVoice } from '../../store/engines.ts';
import type { StudioState } from '../../store/state.ts';
import { IconButton } from '../../ui/Button.tsx';
import { NumberField } from '../../ui/NumberField.tsx';
import { ParameterSlider } from '../../ui/ParameterSlider.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** Who speaks and how: only what the chosen engine has. */
export function VoicePanel() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const engines = useStudioState((state) => state.engines);
  const engine = useStudioState(selectEngine);
  const voice = useStudioState(selectVoice);
  const draft = useStudioState((state) => state.draft);
  const connected = useStudioState((state) => state.connection.status !== 'connecting');
  const ids = { engine: useId(), voice: useId() };

  return (
    <section aria-label={t('voice.panel')} className="space-y-6">
      {engines.length > 1 && (
        <div>
          <label htmlFor={ids.engine} className="mb-1.5 block text-ink-soft">
            {t('voice.engine')}
          </label>
          <select
            id={ids.engine}
            data-testid="engine"
            className="select"
            value={engine?.id ?? ''}
            onChange={(event) => editDraft(studio, { engine: event.target.value, voice: null })}
          >
            {engines.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </div>
      )}
      <div>
        <label htmlFor={ids.voice} className="mb-1.5 block text-ink-soft">
          {t('voice.voice')}
        </label>
        <select
          id={ids.voice}
          data-testid="voice"
          className="select"
          disabled={engine === undefined}
          value={voice?.id ?? ''}
          onChange={(event) => editDraft(studio, { voice: event.target.value })}
        >
          {engine?.voices.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
        {engine !== undefined && (
          <p className="mt-1.5 text-ink-soft text-xs">
            {engine.name}
            {' · '}
            {t('voice.speaks', {
              languages: format.list((voice ? [voice.language] : engine.languages).map(format.language)),
            })}
          </p>
        )}
        {engine === undefined && connected && (
          <p className="mt-1.5 text-warning-ink text-xs">{t('voice.none')}</p>
        )}
      </div>
      {(['speed', 'pitch'] as const).map((key) => {
        const range = parameterOf(engine, key);
        if (range === undefined) return null;
        return (
          <div key={key} data-testid={key}>
            <ParameterSlider
              label={t(`voice.${key}`)}
              range={range}
              value={draft[key]}
              resetHint={t('voice.reset', { value: format.factor(range.default) })}
              onChange={(value) => editDraft(studio, { [key]: value })}
            />
          </div>
        );
      })}
      <Seed />
    </section>
  );
}

/** The seed of the newest finished result: what "keep the seed" keeps. */
function lastSeed(state: StudioState): number | null {
  for (let i = state.jobOrder.length - 1; i >= 0; i--) {
    const result = state.jobs[state.jobOrder[i]!]?.result;
    if (result != null) return result.seed;
  }
  return null;
}

function Seed() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const seed = useStudioState((state) => state.draft.seed);
  const last = useStudioState(lastSeed);
  const ids = { field: useId(), hint: useId() };
  const locked = seed !== null;
  return (
    <div>
      <label htmlFor={ids.field} className="mb-1.5 block text-ink-soft">
        {t('voice.seed')}
      </label>
      <div className="flex items-center gap-1">
        <div className="min-w-0 grow rounded-lg border border-line-strong bg-surface" data-testid="seed">
          <NumberField
            id={ids.field}
            value={seed}
            minimum={0}
            maximum={maxSeed}
            whole
            placeholder={t('voice.random')}
            describedBy={ids.hint}
            className="w-full px-2.5! py-1.5! placeholder:text-ink-soft"
            onCommit={(value) => editDraft(studio, { seed: value })}
          />
        </div>
        <IconButton icon={Dices} label={t('voice.roll')} onClick={() => rollSeed(studio)} />
        <IconButton
          icon={locked ? Lock : LockOpen}
          label={locked ? t('voice.unlock') : t('voice.lock')}
          aria-pressed={locked}
          disabled={!locked && last === null}
          onClick={() => editDraft(studio, { seed: locked ? null : last })}
        />
      </div>
      <p id={ids.hint} className="mt-1.5 text-ink-soft text-xs">
        {t('voice.seedHint')}
        <span className="sr-only"> {t('voice.seedRange', { maximum: format.number(maxSeed) })}</span>
      </p>
    </div>
  );
}

import { Dices, Lock, LockOpen } from 'lucide-react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { SpeechModel } from '../../../../main/contract/models.ts';
import { en } from '../../i18n/en.ts';
import { isKnown } from '../../i18n/known.ts';
import { chooseModel, editDraft, rollSeed } from '../../store/commands.ts';
import { maxSeed } from '../../store/draft.ts';
import { parameterOf, selectEngine, selectLanguage, selectModel } from '../../store/engines.ts';
import type { StudioState } from '../../store/state.ts';
import { IconButton } from '../../ui/Button.tsx';
import { NumberField } from '../../ui/NumberField.tsx';
import { ParameterSlider } from '../../ui/ParameterSlider.tsx';
import { SelectField } from '../../ui/SelectField.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';
import { InstructField } from './InstructField.tsx';
import { MoreParameters } from './MoreParameters.tsx';
import { VoiceSelect } from './VoiceSelect.tsx';

/** Who speaks and how: only what the chosen engine has. */
export function VoicePanel() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const engines = useStudioState((state) => state.engines);
  const engine = useStudioState(selectEngine);
  const model = useStudioState(selectModel);
  const draft = useStudioState((state) => state.draft);

  return (
    <section aria-label={t('voice.panel')} className="space-y-6">
      {engines.length > 1 && (
        <div>
          <SelectField
            label={t('voice.engine')}
            testId="engine"
            value={engine?.id ?? ''}
            onChange={(id) => chooseModel(studio, id, null)}
          >
            {engines.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      {engine !== undefined && engine.models.length > 1 && (
        <div>
          <SelectField
            label={t('voice.model')}
            testId="model-select"
            value={model?.id ?? ''}
            onChange={(id) => chooseModel(studio, engine.id, id)}
          >
            {engine.models.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      <Dropped />
      <VoiceSelect />
      {model !== undefined && model.languages.length > 1 && <LanguageSelect model={model} />}
      {model !== undefined && <InstructField model={model} />}
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
      {engine !== undefined && <MoreParameters engine={engine} />}
    </section>
  );
}

/** What the engine chosen last does not take. */
function Dropped() {
  const { t } = useTranslation();
  const format = useFormat();
  const engine = useStudioState(selectEngine);
  const dropped = useStudioState((state) => state.dropped);
  if (engine === undefined || dropped.length === 0) return null;
  const name = (key: string): string => {
    if (key === 'speed' || key === 'pitch') return t(`voice.${key}`);
    return isKnown(en.voice.parameters, key) ? t(`voice.parameters.${key}`) : key;
  };
  return (
    <p role="status" data-testid="dropped" className="-mt-4 text-ink-soft text-xs">
      {t('voice.dropped', { engine: engine.name, names: format.list(dropped.map(name)) })}
    </p>
  );
}

/** `auto` first, then the model's languages by their names in the window's language. */
function LanguageSelect({ model }: { model: SpeechModel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const language = useStudioState(selectLanguage);
  return (
    <div>
      <SelectField
        label={t('voice.language')}
        testId="language"
        value={language}
        onChange={(tag) => editDraft(studio, { language: tag })}
      >
        <option value="auto">{model.auto_language ? t('voice.languageAuto') : t('voice.languageOwn')}</option>
        {model.languages.map((tag) => (
          <option key={tag} value={tag}>
            {format.language(tag)}
          </option>
        ))}
      </SelectField>
    </div>
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

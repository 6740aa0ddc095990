import { type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { EngineInfo, EngineParameter } from '../../../../main/contract/runtime.ts';
import type { ParameterValue } from '../../../../main/contract/speech.ts';
import { en } from '../../i18n/en.ts';
import { isKnown } from '../../i18n/known.ts';
import { editDraft, setParameter } from '../../store/commands.ts';
import { changedParameters, otherParameters } from '../../store/engines.ts';
import { Button } from '../../ui/Button.tsx';
import { NumberField } from '../../ui/NumberField.tsx';
import { ParameterSlider } from '../../ui/ParameterSlider.tsx';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** What only this engine can change, folded away: its defaults are good. */
export function MoreParameters({ engine }: { engine: EngineInfo }) {
  const { t } = useTranslation();
  const studio = useStudio();
  const values = useStudioState((state) => state.draft.parameters);
  const parameters = otherParameters(engine);
  if (parameters.length === 0) return null;
  const changed = changedParameters(engine, values);
  const count = Object.keys(changed).length;
  return (
    <details data-testid="more">
      <summary className="w-fit rounded text-ink-soft hover:text-ink">
        {t('voice.more')}
        {count > 0 && <span className="text-accent-ink"> · {t('voice.changed', { count })}</span>}
      </summary>
      <div className="mt-4 space-y-5">
        {parameters.map((parameter) => (
          <Parameter
            key={parameter.key}
            parameter={parameter}
            value={changed[parameter.key] ?? parameter.default}
          />
        ))}
        {count > 0 && (
          <Button className="w-full" onClick={() => editDraft(studio, { parameters: {} })}>
            {t('voice.resetAll')}
          </Button>
        )}
      </div>
    </details>
  );
}

function Parameter({ parameter, value }: { parameter: EngineParameter; value: ParameterValue | null }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const id = useId();
  const { key, description, minimum, maximum, step, integer = false, choices, default: usual } = parameter;
  const label = isKnown(en.voice.parameters, key) ? t(`voice.parameters.${key}`) : key;
  const hint = isKnown(en.voice.parameterHints, key) ? t(`voice.parameterHints.${key}`) : description;
  const change = (next: ParameterValue) => setParameter(studio, key, next);
  /** Nothing typed: the default again. */
  const resetOne = () => {
    const { [key]: _, ...parameters } = studio.store.getState().draft.parameters;
    editDraft(studio, { parameters });
  };

  const labelled = (control: ReactNode) => (
    <>
      <label htmlFor={id} className="mb-1.5 block text-ink-soft">
        {label}
      </label>
      {control}
    </>
  );
  let control: ReactNode;
  if (choices !== undefined || typeof usual === 'boolean') {
    const options = choices ?? ['true', 'false'];
    control = labelled(
      <select
        id={id}
        className="select"
        value={String(value)}
        onChange={({ target }) => change(choices === undefined ? target.value === 'true' : target.value)}
      >
        {options.map((choice) => (
          <option key={choice} value={choice}>
            {isKnown(en.voice.choices, choice) ? t(`voice.choices.${choice}`) : choice}
          </option>
        ))}
      </select>,
    );
  } else if (typeof usual === 'string') {
    control = labelled(
      <input
        id={id}
        className="select selectable"
        autoComplete="off"
        value={String(value)}
        onChange={({ target }) => change(target.value)}
      />,
    );
  } else if (typeof usual === 'number' && minimum !== undefined && maximum !== undefined) {
    control = (
      <ParameterSlider
        label={label}
        range={{
          minimum,
          maximum,
          step: step ?? (integer ? 1 : (maximum - minimum) / 100),
          default: usual,
          whole: integer,
        }}
        value={typeof value === 'number' ? value : usual}
        resetHint={t('voice.reset', { value: format.number(usual, 2) })}
        onChange={change}
      />
    );
  } else {
    control = labelled(
      <NumberField
        id={id}
        value={typeof value === 'number' ? value : null}
        minimum={minimum ?? Number.MIN_SAFE_INTEGER}
        maximum={maximum ?? Number.MAX_SAFE_INTEGER}
        digits={2}
        whole={integer}
        placeholder={t('voice.choices.auto')}
        className="w-full border-line-strong! bg-surface!"
        onCommit={(typed) => (typed === null ? resetOne() : change(typed))}
      />,
    );
  }
  return (
    <div data-testid="parameter" data-key={key}>
      {control}
      {hint !== undefined && <p className="mt-1 text-ink-soft text-xs">{hint}</p>}
    </div>
  );
}

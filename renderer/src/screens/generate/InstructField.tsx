import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { SpeechModel } from '../../../../main/contract/models.ts';
import { editDraft } from '../../store/commands.ts';
import { instructField } from '../../store/engines.ts';
import { useFormat, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** How to speak, or, for models that design a voice, who speaks: in the person's own words. */
export function InstructField({ model }: { model: SpeechModel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const field = instructField(model);
  const text = useStudioState((state) => (field === null ? '' : state.draft[field]));
  const ids = { text: useId(), count: useId() };
  if (field === null) return null;
  const required = model.instruct === 'required';
  const limit = model.limits.instruct_characters;
  const used = text.trim().length;
  return (
    <div>
      <label htmlFor={ids.text} className="mb-1.5 flex items-baseline justify-between gap-2 text-ink-soft">
        {t(`voice.${field}`)}
        <span className="text-xs">{required ? t('voice.required') : t('voice.optional')}</span>
      </label>
      <textarea
        id={ids.text}
        data-testid="instruct"
        rows={4}
        required={required}
        aria-invalid={used > limit}
        aria-describedby={ids.count}
        placeholder={t(`voice.${field}Example`)}
        value={text}
        onChange={(event) => editDraft(studio, { [field]: event.target.value })}
        className="selectable block w-full resize-y rounded-lg border border-line-strong bg-surface px-2.5 py-1.5 leading-relaxed placeholder:text-ink-soft"
      />
      <p
        id={ids.count}
        data-testid="instruct-count"
        className={`mt-1 text-xs ${used > limit ? 'text-danger-ink' : 'text-ink-soft'}`}
      >
        {t('voice.instructCount', { used: format.number(used), limit: format.number(limit) })}
      </p>
    </div>
  );
}

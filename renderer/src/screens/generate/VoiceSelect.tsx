import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { Speaker, SpeechModel } from '../../../../main/contract/models.ts';
import type { SavedVoice } from '../../../../main/contract/voices.ts';
import { editDraft } from '../../store/commands.ts';
import { savedKey, selectEngine, selectModel, selectVoice, selectVoiceKey } from '../../store/engines.ts';
import { SelectField } from '../../ui/SelectField.tsx';
import { useFormat, useLanguage, useStudio, useStudioState } from '../../ui/studio-context.ts';

/** The model's speakers and, where it clones, the voices that the person keeps. */
export function VoiceSelect() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const engine = useStudioState(selectEngine);
  const model = useStudioState(selectModel);
  const voice = useStudioState(selectVoice);
  const key = useStudioState(selectVoiceKey);
  const saved = useStudioState((state) => state.savedVoices);
  const connected = useStudioState((state) => state.connection.status !== 'connecting');
  const hint = useId();

  if (engine !== undefined && model === undefined) return null;
  const clones = model?.modes.includes('clone') === true;
  if (model !== undefined && !clones && model.speakers.length === 0) return null;
  const several = (model?.languages.length ?? 0) > 1;
  const name = (one: { name: string; language: string | null }) =>
    several && one.language !== null ? format.parts([one.name, format.language(one.language)]) : one.name;
  const speakers = model?.speakers.map((one) => (
    <option key={one.id} value={one.id}>
      {name(one)}
    </option>
  ));
  /** Its words are not known, and the model would use them. */
  const wordless = (one: SavedVoice) => model?.reference_text !== 'none' && one.text === null;
  const lacking = clones && model?.speakers.length === 0 && saved.length === 0;
  return (
    <div>
      <SelectField
        label={t('voice.voice')}
        testId="voice"
        disabled={model === undefined || lacking}
        describedBy={engine === undefined ? undefined : hint}
        value={key ?? ''}
        onChange={(voice) => editDraft(studio, { voice })}
      >
        {lacking && <option value="">{t('voice.noneYet')}</option>}
        {clones ? (
          <>
            {speakers !== undefined && speakers.length > 0 && (
              <optgroup label={t('voice.modelSpeakers')}>{speakers}</optgroup>
            )}
            {saved.length > 0 && (
              <optgroup label={t('voice.mine')}>
                {saved.map((one) => (
                  <option key={one.id} value={savedKey(one)}>
                    {wordless(one) ? format.parts([name(one), t('voice.wordless')]) : name(one)}
                  </option>
                ))}
              </optgroup>
            )}
          </>
        ) : (
          speakers
        )}
      </SelectField>
      {engine !== undefined && model !== undefined && (
        <div id={hint} className="mt-1.5 text-ink-soft text-xs">
          {several ? (
            voice !== undefined && 'description' in voice && <SpeakerNote speaker={voice} />
          ) : (
            <SpeaksNote engine={engine.name} model={model} voice={voice?.language ?? null} />
          )}
          {clones && voice !== undefined && 'text' in voice && wordless(voice) && (
            <p data-testid="wordless-hint">
              {model.reference_text === 'required' ? t('voice.wordsRequired') : t('voice.wordsOptional')}
              <code className="selectable mt-1 block break-words rounded-md bg-hover px-2 py-1 text-ink">
                {`mizuoto voices change ${voice.id} --text ${t('voice.wordsArgument')}`}
              </code>
            </p>
          )}
          {clones && saved.length === 0 && (
            <p data-testid="voices-hint">
              {t('voice.addHint')}
              <code className="selectable mt-1 block break-words rounded-md bg-hover px-2 py-1 text-ink">
                {`mizuoto voices add ${t('voice.addArguments')}`}
              </code>
            </p>
          )}
        </div>
      )}
      {engine === undefined && connected && (
        <p className="mt-1.5 text-warning-ink text-xs">{t('voice.none')}</p>
      )}
    </div>
  );
}

function SpeaksNote({ engine, model, voice }: { engine: string; model: SpeechModel; voice: string | null }) {
  const { t } = useTranslation();
  const format = useFormat();
  const languages = voice === null ? model.languages : [voice];
  return (
    <p>
      {format.parts([engine, t('voice.speaks', { languages: format.list(languages.map(format.language)) })])}
    </p>
  );
}

/** What the speaker sounds like; nothing where nobody said it in the window's language. */
function SpeakerNote({ speaker }: { speaker: Speaker }) {
  const language = useLanguage();
  const words = language === 'en' ? speaker.description : speaker.description_in?.[language];
  return words ? <p>{words}</p> : null;
}

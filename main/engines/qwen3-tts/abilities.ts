import type { ModelAbilities } from '../../contract/models.ts';
import type { ModelKind, SpokenNames } from './kinds.ts';
import { languageTags } from './languages.ts';
import { speakersOf } from './speakers.ts';

/**
 * Seconds of reference audio. Below one there is no voice to hear; upstream has no upper limit, but each second takes
 * 12.5 positions of every talker pass, and nothing is gained after half a minute.
 */
const referenceSeconds = { minimum: 1, maximum: 60 };

/** A designed voice is drawn once for the whole text: it cannot be split. About two minutes of speech. */
const designCharacters = 2000;

const instructCharacters = 2000;

/** What a model can be asked. */
export function abilitiesOf(kind: ModelKind, names: SpokenNames): ModelAbilities {
  const shared = {
    languages: languageTags(names.codec_language_id),
    auto_language: true,
    reference_text: 'none',
    speakers: [],
  } as const;
  switch (kind.tts_model_type) {
    case 'base':
      return {
        ...shared,
        speakers: [],
        modes: ['clone'],
        instruct: 'none',
        reference_text: 'optional',
        limits: { text_characters: null, instruct_characters: 0, reference_seconds: referenceSeconds },
      };
    case 'custom_voice': {
      // The small model was not trained to follow: upstream drops the instruction without a word.
      const follows = kind.tts_model_size !== '0b6';
      return {
        ...shared,
        modes: ['speakers'],
        speakers: speakersOf(names),
        instruct: follows ? 'optional' : 'none',
        limits: {
          text_characters: null,
          instruct_characters: follows ? instructCharacters : 0,
          reference_seconds: null,
        },
      };
    }
    case 'voice_design':
      return {
        ...shared,
        speakers: [],
        modes: ['design'],
        instruct: 'required',
        limits: {
          text_characters: designCharacters,
          instruct_characters: instructCharacters,
          reference_seconds: null,
        },
      };
  }
}

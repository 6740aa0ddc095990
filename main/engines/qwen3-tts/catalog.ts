import type { CatalogFile, CatalogModel } from '../../models/types.ts';
import { abilitiesOf } from './abilities.ts';
import { type ModelKind, modelName, type SpokenNames, variantOf } from './kinds.ts';

/** Files that are the same in every repository; configurations may be corrected there, so that they have no hash. */
const shared: readonly CatalogFile[] = [
  file('config.json'),
  file('generation_config.json'),
  file('tokenizer_config.json'),
  file('vocab.json', 2_776_833, 'ca10d7e9fb3ed18575dd1e277a2579c16d108e32f27439684afa0e10b1440910'),
  file('merges.txt', 1_671_839, '599bab54075088774b1733fde865d5bd747cbcc7a547c5bc12610e874e26f5e3'),
  file('speech_tokenizer/config.json'),
  file(
    'speech_tokenizer/model.safetensors',
    682_293_092,
    '836b7b357f5ea43e889936a3709af68dfe3751881acefe4ecf0dbd30ba571258',
  ),
];

const unnamed: SpokenNames = {
  codec_language_id: {
    chinese: 2055,
    english: 2050,
    german: 2053,
    italian: 2070,
    portuguese: 2071,
    spanish: 2054,
    japanese: 2058,
    korean: 2064,
    french: 2061,
    russian: 2069,
  },
  spk_id: {},
  spk_is_dialect: {},
};
const named: SpokenNames = {
  ...unnamed,
  spk_id: {
    vivian: 3065,
    serena: 3066,
    uncle_fu: 3010,
    dylan: 2878,
    eric: 2875,
    ryan: 3061,
    aiden: 2861,
    ono_anna: 2873,
    sohee: 2864,
  },
  spk_is_dialect: { dylan: 'beijing_dialect', eric: 'sichuan_dialect' },
};

/** The published models of the 12 Hz family (github.com/QwenLM/Qwen3-TTS); both sites have the same files. */
export const qwen3TtsCatalog: readonly CatalogModel[] = [
  model(
    { tts_model_type: 'custom_voice', tts_model_size: '0b6' },
    'Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice',
    1_811_626_576,
    'bc3c7e785eb961179c25450d1acff03f839e0002f2f3a5aeb67b5735c0fa2adb',
  ),
  model(
    { tts_model_type: 'base', tts_model_size: '0b6' },
    'Qwen/Qwen3-TTS-12Hz-0.6B-Base',
    1_829_344_272,
    '180b3b10eb1c9f1b4db7806d5475bae3071c0243c299d49926bab1da3b6946f6',
  ),
  model(
    { tts_model_type: 'custom_voice', tts_model_size: '1b7' },
    'Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice',
    3_833_402_552,
    '38b1d5971bdbd982b561cccec982669a53b0537c3cf5e9bd4778ed07bb2f5137',
  ),
  model(
    { tts_model_type: 'base', tts_model_size: '1b7' },
    'Qwen/Qwen3-TTS-12Hz-1.7B-Base',
    3_857_413_744,
    '38fc7fc51c5e776e840414b6fd443962e9411b9654888fd7913e4da643cb857c',
  ),
  model(
    { tts_model_type: 'voice_design', tts_model_size: '1b7' },
    'Qwen/Qwen3-TTS-12Hz-1.7B-VoiceDesign',
    3_833_402_552,
    '391e8db219f292c515297cdceeb43e4eae67cdde35fa57e79a6a8a532fca0522',
  ),
];

function model(kind: ModelKind, repository: string, bytes: number, sha256: string): CatalogModel {
  const files = [...shared, file('model.safetensors', bytes, sha256)];
  return {
    id: `qwen3-tts:${variantOf(kind)}`,
    engine: 'qwen3-tts',
    name: modelName(kind),
    licence: 'Apache-2.0',
    huggingface: repository,
    modelscope: repository,
    files,
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0),
    abilities: abilitiesOf(kind, kind.tts_model_type === 'custom_voice' ? named : unnamed),
  };
}

function file(path: string, sizeBytes: number | null = null, sha256: string | null = null): CatalogFile {
  return { path, sizeBytes, sha256 };
}

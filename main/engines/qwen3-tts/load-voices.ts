import { EcapaTdnn } from '../../nn/blocks/ecapa-tdnn.ts';
import type { ModelLoadContext } from '../../runtime/model-source.ts';
import type { VoicePrompts } from '../../voices/voice-prompts.ts';
import { CodecEncoder, codecEncoderName } from './codec-encoder.ts';
import { CodecEncoding } from './codec-encoding.ts';
import { withCodebooks } from './codec-tensors.ts';
import type { ModelReader, ReadingOptions } from './components.ts';
import type { Qwen3TtsConfig } from './config.ts';
import { checkpoints } from './recognise.ts';
import { SpeakerEncoding, speakerEncoderName } from './speaker-encoding.ts';
import { VoicePreparer } from './voice-prompt.ts';

/** The networks that hear reference audio; null where the model clones no voices. */
export async function loadVoicePreparer(
  { model: config, codec }: Qwen3TtsConfig,
  reader: ModelReader,
  { addon, model, voicePrompts }: ReadingOptions & { voicePrompts: VoicePrompts },
  { book }: ModelLoadContext,
): Promise<VoicePreparer | null> {
  if (config.tts_model_type !== 'base') return null;
  const { device, arena } = book;
  const speaker = await reader.component('speaker encoder', new EcapaTdnn(config.speaker_encoder_config), {
    kind: 'oneshot',
    checkpoint: await reader.open(checkpoints.model),
    rename: speakerEncoderName,
  });
  const checkpoint = await reader.open(checkpoints.codec);
  const encoder = await reader.component(
    'codec encoder',
    await withCodebooks(checkpoint, (tensors) => new CodecEncoder(codec, tensors)),
    {
      kind: 'oneshot',
      checkpoint,
      rename: codecEncoderName,
    },
  );
  const speaking = reader.own(new SpeakerEncoding({ addon, device, module: speaker.module, arena }));
  reader.keep(speaking.kept);
  const encoding = reader.own(new CodecEncoding({ addon, device, module: encoder.module, arena }));
  return new VoicePreparer({
    sampleRate: codec.input_sample_rate,
    groups: codec.encoder_valid_num_quantizers,
    speaker: {
      handle: speaker.handle,
      workingBytes: (samples) => speaking.workingBytes(samples),
      hear: (samples, signal) => speaking.encode(samples, signal),
    },
    codec: {
      handle: encoder.handle,
      workingBytes: (samples) => encoding.workingBytes(samples),
      hear: (samples, signal) => encoding.encode(samples, signal),
    },
    prompts: voicePrompts,
    model,
    sound: reader.finite(),
  });
}

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../contract/errors.ts';

const size = z.number().int().min(1).max(65_536);
const odd = size.refine((value) => value % 2 === 1, 'must be odd, so that a convolution keeps the length');
const range = z.tuple([z.number().positive(), z.number().positive()]);

/**
 * The parts of a voice's `config.json` that vary. Rules that the code is written for are literals: a file that
 * states another rule is refused instead of being spoken wrongly.
 */
export const miniConfigSchema = z.object({
  format: z.literal('mizuoto-mini-voice/1'),
  sample_rate: z.number().int().min(8000).max(192_000),
  phones: z.string(),
  acoustic: z.object({
    n_phones: size,
    dim: size,
    encoder_blocks: size,
    encoder_kernel: odd,
    encoder_mult: size,
    duration_blocks: size,
    duration_kernel: odd,
    duration_mult: size,
    decoder_blocks: size,
    decoder_kernel: odd,
    decoder_mult: size,
    weights: z.string(),
    out_channels: size,
    out_layout: z.tuple([z.string(), z.literal('ln_f0_hz'), z.literal('voicing_logit')]),
    position_features: z.tuple([z.literal('f'), z.literal('f*f'), z.literal('ln(d)')]),
  }),
  vocoder: z.object({
    dim: size,
    blocks: size,
    kernel: odd,
    mult: size,
    mel_shift: z.number(),
    mel_scale: z.number(),
    lf0_shift: z.number(),
    lf0_scale: z.number(),
    weights: z.string(),
    in_channels: size,
    in_kernel: odd,
    log_magnitude_max: z.number(),
  }),
  block: z.object({
    order: z.tuple([
      z.literal('dwconv'),
      z.literal('norm'),
      z.literal('pw1'),
      z.literal('gelu'),
      z.literal('pw2'),
      z.literal('gamma'),
      z.literal('residual'),
    ]),
    gelu: z.literal('erf'),
    layer_norm_eps: z.number().positive(),
  }),
  mel: z.object({ bins: size }),
  istft: z.object({
    n_fft: size,
    hop: size,
    window: z.literal('hann, periodic'),
    trim: z.number().int().nonnegative(),
  }),
  excitation: z.object({
    voiced_noise: z.object({
      start_hz: z.number().nonnegative(),
      end_hz: z.number().positive(),
      top: z.number().min(0).max(1),
    }),
  }),
  speed: z.object({ default: z.number().positive(), suggested_range: range }),
  pitch: z.object({ default: z.number().positive(), suggested_range: range }),
});
export type MiniConfig = z.infer<typeof miniConfigSchema>;

/**
 * Read a voice's `config.json`.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`
 */
export async function readMiniConfig(folder: string): Promise<MiniConfig> {
  const raw = await readJson(path.join(folder, 'config.json'));
  const parsed = miniConfigSchema.safeParse(raw);
  const problem = parsed.success ? inconsistency(parsed.data) : firstIssue(parsed.error);
  if (!parsed.success || problem) {
    throw new StudioError(
      'checkpoint_invalid',
      `"${path.join(folder, 'config.json')}" does not describe a voice for this engine: ${problem}. ` +
        'Put back the file that belongs to the voice.',
      {
        params: { path: folder, reason: problem ?? '', unfit: path.join(folder, 'config.json') },
      },
    );
  }
  return parsed.data;
}

/** @throws StudioError `checkpoint_missing`, `checkpoint_invalid` */
export async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new StudioError(
      'checkpoint_missing',
      `The voice is incomplete: "${file}" cannot be read. Install it again.`,
      {
        params: { path: file },
        detail: String(error),
        cause: error,
      },
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StudioError(
      'checkpoint_invalid',
      `"${file}" is damaged: it is not JSON. Install the voice again.`,
      {
        params: { path: file },
        detail: String(error),
        cause: error,
      },
    );
  }
}

/** Sizes that must agree between the networks and the transform; null: they do. */
function inconsistency(config: MiniConfig): string | null {
  const { acoustic, vocoder, mel, istft } = config;
  if (acoustic.out_channels !== mel.bins + 2 || vocoder.in_channels !== mel.bins + 2) {
    return `networks exchange ${acoustic.out_channels} and ${vocoder.in_channels} channels for ${mel.bins} mel bins`;
  }
  if (istft.n_fft % 2 === 1 || istft.hop > istft.n_fft || istft.trim * 2 !== istft.n_fft - istft.hop) {
    return `trim ${istft.trim} does not fit frames of ${istft.n_fft} at hop ${istft.hop}`;
  }
  return null;
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue ? `${issue.path.join('.') || 'the file'}: ${issue.message}` : 'unknown';
}

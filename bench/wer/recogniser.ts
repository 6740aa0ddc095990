import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resample } from '../../main/audio/resample.ts';

/** Where Debian puts the US English models; POCKETSPHINX_MODEL overrides it. */
const modelFolder = process.env.POCKETSPHINX_MODEL ?? '/usr/share/pocketsphinx/model/en-us';
const rate = 16_000;
/** Silence on both sides, as the voice's own recipe does it. */
const padSeconds = 0.2;

/** Why recognition is impossible here, or null. */
export function missingRecogniser(): string | null {
  const found = spawnSync('pocketsphinx_batch', ['-help'], { stdio: 'ignore' });
  if (found.error) {
    return 'pocketsphinx_batch is not installed. Install the packages pocketsphinx and pocketsphinx-en-us (Debian) and try again.';
  }
  if (existsSync(join(modelFolder, 'en-us.lm.bin'))) return null;
  return `There is no US English model in ${modelFolder}. Install the package pocketsphinx-en-us or set POCKETSPHINX_MODEL.`;
}

/**
 * What an offline recogniser (pocketsphinx, US English, with the settings of the voice's recipe) hears.
 *
 * @param clips mono, -1..1, any rate
 * @returns the words heard, in the order of the clips
 */
export function recognise(clips: readonly { samples: Float32Array; sampleRate: number }[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-wer-'));
  try {
    const ids = clips.map((_, i) => `clip${String(i).padStart(4, '0')}`);
    clips.forEach((clip, i) => {
      writeFileSync(join(folder, `${ids[i]}.raw`), toPcm(clip.samples, clip.sampleRate));
    });
    const control = join(folder, 'control');
    const heard = join(folder, 'heard');
    writeFileSync(control, `${ids.join('\n')}\n`);
    const args = {
      hmm: join(modelFolder, 'en-us'),
      lm: join(modelFolder, 'en-us.lm.bin'),
      dict: join(modelFolder, 'cmudict-en-us.dict'),
      adcin: 'yes',
      cepdir: folder,
      cepext: '.raw',
      ctl: control,
      hyp: heard,
    };
    const result = spawnSync(
      'pocketsphinx_batch',
      Object.entries(args).flatMap(([name, value]) => [`-${name}`, value]),
      { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1 << 28 },
    );
    if (result.status !== 0) {
      throw new Error(
        `pocketsphinx_batch ended with ${result.status ?? result.signal}: ${result.stderr.slice(-500)}`,
      );
    }
    const lines = new Map<string, string>();
    for (const line of readFileSync(heard, 'utf8').split('\n')) {
      const found = /^(.*)\((clip\d+) -?\d+\)\s*$/.exec(line);
      if (found) lines.set(found[2]!, found[1]!.trim());
    }
    return ids.map((id) => lines.get(id) ?? '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** 16 kHz, 16-bit little-endian, padded. */
function toPcm(samples: Float32Array, sampleRate: number): Uint8Array {
  const body = sampleRate === rate ? samples : resample(samples, sampleRate, rate);
  const pad = Math.round(padSeconds * rate);
  const out = new DataView(new ArrayBuffer(2 * (body.length + 2 * pad)));
  body.forEach((sample, i) => {
    out.setInt16(2 * (pad + i), Math.round(Math.max(-1, Math.min(1, sample)) * 32767), true);
  });
  return new Uint8Array(out.buffer);
}

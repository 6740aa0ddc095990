import { setImmediate as nextTurn } from 'node:timers/promises';
import { fadeIn, fadeOut } from '../../audio/level.ts';
import { StudioError } from '../../contract/errors.ts';
import { Random } from '../../nn/random.ts';
import type { AudioChunk, Engine, EngineContext, SpeakTask } from '../engine.ts';
import { framesFromLogDurations } from './durations.ts';
import { Excitation } from './excitation.ts';
import { limitPeaks } from './limiter.ts';
import type { MiniNetworks } from './networks.ts';
import { oneAhead } from './one-ahead.ts';
import { checkParameters } from './parameters.ts';
import { pitchTrack, silences } from './prosody.ts';
import { Synthesis, type SynthesisTables } from './synthesis.ts';
import type { TextReader, Utterance } from './utterances.ts';

/** Frames synthesised before messages such as a cancel are looked at: a few milliseconds. */
const framesPerTurn = 48;
/** At both ends of an utterance, which begin and end in a pause: no click where silence follows. */
const fadeSeconds = 0.005;
/** Generous, for reserving memory before the durations are known. */
const framesPerPhone = 14;

/** A stretch of an utterance whose filters are computed. */
interface Stretch {
  utterance: Utterance;
  synthesis: Synthesis;
  /** `[frames, n_fft + 2]` */
  head: Float32Array;
  first: boolean;
  last: boolean;
  /** Boundary of the utterance before this one; null at the beginning. */
  after: Utterance['boundary'] | null;
  /** 0..1 of the request once this stretch is spoken. */
  fraction: number;
}

/** The built-in voice, loaded. */
export class MiniEngine implements Engine {
  readonly id = 'mini';
  readonly phased = true;

  constructor(
    private readonly networks: MiniNetworks,
    private readonly tables: SynthesisTables,
    private readonly readText: TextReader,
  ) {}

  get sampleRate(): number {
    return this.tables.config.sample_rate;
  }

  memoryRequired(task: SpeakTask): number {
    const phones = Math.min(task.text.length, 1024);
    const frames = Math.ceil((phones * framesPerPhone) / Math.max(task.speed, 0.1));
    return Math.max(this.networks.acousticBytes(phones, frames), this.networks.vocoderBytes(frames));
  }

  async *speak(task: SpeakTask, ctx: EngineContext): AsyncGenerator<AudioChunk, void, void> {
    for (const warning of checkParameters(task, this.tables.config)) ctx.warn(warning);
    const text = this.readText(task.text);
    for (const warning of text.warnings) ctx.warn(warning);
    Object.assign(ctx.applied, { voice: task.voice, seed: task.seed, speed: task.speed, pitch: task.pitch });
    const working = this.memoryRequired(task);
    ctx.announce([
      { name: 'acoustic', handles: [this.networks.acoustic], memory: working },
      { name: 'vocoder', handles: [this.networks.vocoder], memory: working },
    ]);
    let chunks = 0;
    // The device computes the next stretch while this thread synthesises the current one.
    for await (const stretch of oneAhead(this.#stretches(task, text.utterances(), ctx))) {
      const samples = await this.#synthesise(stretch, task, ctx);
      chunks++;
      ctx.progress(stretch.fraction, { chunksDone: chunks });
      yield { samples, text: stretch.first ? stretch.utterance.text : '' };
    }
    if (chunks === 0) throw nothingToSay();
  }

  unload(): Promise<void> {
    return this.networks.dispose();
  }

  async *#stretches(
    task: SpeakTask,
    utterances: Iterable<Utterance>,
    ctx: EngineContext,
  ): AsyncGenerator<Stretch, void, void> {
    const { out_channels: channels } = this.tables.config.acoustic;
    let index = 0;
    let after: Stretch['after'] = null;
    for (const utterance of utterances) {
      ctx.throwIfCancelled();
      const features = await this.#features(utterance, task.speed, ctx);
      const synthesis = this.#synthesis(features, utterance, index, task);
      const frames = features.length / channels;
      const windows = this.networks.vocoderWindows(frames);
      for (const window of windows) {
        const head = await ctx.run(
          'vocoder',
          [this.networks.vocoder],
          () => this.networks.vocode(features, window, ctx.signal),
          this.networks.vocoderBytes(window.to - window.from),
        );
        const { from, to } = utterance.progress;
        yield {
          utterance,
          synthesis,
          head,
          after,
          first: window.start === 0,
          last: window.end === frames,
          fraction: from + ((to - from) * window.end) / frames,
        };
      }
      after = utterance.boundary;
      index++;
      // Sentences that are all in one graph's cache may come faster than messages are looked at.
      await nextTurn();
    }
  }

  /** `[frames, channels]` */
  #features(utterance: Utterance, speed: number, ctx: EngineContext): Promise<Float32Array> {
    const { ids, wordStarts } = utterance;
    const { acoustic } = this.networks;
    const frames = Math.ceil((ids.length * framesPerPhone) / speed);
    const compute = async () => {
      const { encoder, logDurations } = await this.networks.encode(ids, wordStarts, ctx.signal);
      return this.networks.decode(encoder, framesFromLogDurations(logDurations, speed), ctx.signal);
    };
    return ctx.run('acoustic', [acoustic], compute, this.networks.acousticBytes(ids.length, frames));
  }

  #synthesis(features: Float32Array, utterance: Utterance, index: number, task: SpeakTask): Synthesis {
    const { sample_rate: sampleRate, istft, acoustic } = this.tables.config;
    const track = pitchTrack(features, acoustic.out_channels, {
      pitch: task.pitch,
      speed: task.speed,
      ending: utterance.ending,
      framesPerSecond: sampleRate / istft.hop,
    });
    // Noise of its own for each utterance: no retry and no order of work can change it.
    const random = new Random(task.seed).fork(`utterance ${index}`);
    const noise = (target: Float32Array) => void random.fillNormal(target);
    return new Synthesis(this.tables, new Excitation(track, istft.hop, sampleRate, noise));
  }

  async #synthesise(stretch: Stretch, task: SpeakTask, ctx: EngineContext): Promise<Float32Array> {
    const { synthesis, head, first, last, after } = stretch;
    const { sample_rate: sampleRate, istft } = this.tables.config;
    const row = istft.n_fft + 2;
    const pause = first && after !== null ? silences[after] / task.speed : 0;
    const pieces: Float32Array[] = [new Float32Array(Math.round(pause * sampleRate))];
    for (let at = 0; at < head.length; at += framesPerTurn * row) {
      ctx.throwIfCancelled();
      pieces.push(synthesis.push(head.subarray(at, at + framesPerTurn * row)));
      await nextTurn();
    }
    if (last) pieces.push(synthesis.finish());
    const samples = joined(pieces);
    const speech = samples.subarray(pieces[0]!.length);
    limitPeaks(speech);
    const fade = Math.round(fadeSeconds * sampleRate);
    if (first) fadeIn(speech, fade);
    if (last) fadeOut(speech, fade);
    return samples;
  }
}

function joined(pieces: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

function nothingToSay(): StudioError {
  return new StudioError(
    'text_not_speakable',
    'Nothing in the text can be said aloud. Mizuoto Mini speaks English text: letters a to z, digits and common signs.',
    { params: { script: 'symbols', share: 100, speaks: 'English' } },
  );
}

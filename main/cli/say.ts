import { join, resolve } from 'node:path';
import { type CallInput, type Said, type SpeakResult, StudioError, say as sayOf } from '../contract/index.ts';
import type { HostClient } from '../host/client.ts';
import { studioFolders } from '../settings/paths.ts';
import { isSettingKey, parseSetting, unknownSetting } from '../settings/resolve.ts';
import { clip, oneOf, type Parsed, positiveNumber, wholeNumber } from './arguments.ts';
import { readAudio } from './audio-input.ts';
import { type AudioOutput, FileOutput, freeName, StdoutOutput, StreamOutput } from './audio-output.ts';
import { withHost } from './listings.ts';
import { CommandError } from './messages.ts';
import { ProgressBar } from './progress.ts';
import { print, printJson, remark, type Surroundings } from './terminal.ts';
import { readText } from './text-input.ts';

const encodings = ['pcm16', 'pcm24', 'pcm32', 'float32'] as const;
type Encoding = (typeof encodings)[number];

/** `mizuoto say`: one request from text to file. */
export async function say(parsed: Parsed, around: Surroundings): Promise<void> {
  const request = await readRequest(parsed, around);
  const encoding: Encoding = oneOf('--encoding', parsed.strings.encoding, encodings) ?? 'pcm16';
  const target = chooseTarget(parsed, around);
  const text = await readText(parsed, around);
  const output = await target.prepare();
  const warnings: Said[] = [];
  try {
    const result = await withHost(around, (client) => {
      client.on('log.line', ({ level, message, said }) => {
        if (level === 'warning') warnings.push(said ?? sayOf('note', { text: message }));
      });
      return speak(client, { ...request, text }, { output, encoding }, around);
    });
    // Some are told when they happen, and again by the result.
    const news = result.warnings.filter(({ message }) => !warnings.some((told) => told.message === message));
    for (const said of news)
      remark(around, around.messages.get('warning', { message: around.messages.said(said) }));
    await report(result, target, [...warnings, ...news], around);
  } catch (error) {
    await output.abort();
    throw error;
  }
}

async function speak(
  client: HostClient,
  request: CallInput<'speak'>,
  { output, encoding }: { output: AudioOutput; encoding: Encoding },
  around: Surroundings,
): Promise<SpeakResult> {
  const bar = new ProgressBar(around);
  const stream = client.speak(request, { signal: around.signal });
  stream.onProgress((progress) => bar.update(progress));
  let opened = false;
  try {
    for await (const { samples, sample_rate } of stream) {
      if (!opened) await output.open({ sampleRate: sample_rate, encoding });
      opened = true;
      await output.append(samples);
    }
    const result = await stream.result;
    // Text whose every sound is empty still is a finished request: a WAV file without samples.
    if (!opened) await output.open({ sampleRate: result.sample_rate, encoding });
    if (around.signal.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
    await output.finish();
    return result;
  } finally {
    bar.clear();
  }
}

async function readRequest(
  { strings, lists }: Parsed,
  around: Surroundings,
): Promise<Omit<CallInput<'speak'>, 'text'>> {
  const { engine, model, voice, language, instruct } = strings;
  const speed = positiveNumber('--speed', strings.speed);
  const pitch = positiveNumber('--pitch', strings.pitch);
  const seed = wholeNumber('--seed', strings.seed, 0, 2 ** 32 - 1);
  const said = { engine, model, voice, language, instruct, speed, pitch, seed };
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const reference = await readReference(strings, around);
  return {
    source: 'cli',
    settings: Object.fromEntries((lists.setting ?? []).map(readSetting)),
    parameters: Object.fromEntries((lists.set ?? []).map(readParameter)),
    ...given,
    ...(reference === null ? {} : { reference }),
  };
}

async function readReference(
  strings: Parsed['strings'],
  around: Surroundings,
): Promise<CallInput<'speak'>['reference'] | null> {
  const { reference: path, 'reference-text': text } = strings;
  if (path === undefined) {
    if (text === undefined) return null;
    throw new CommandError('invalid_request', 'referenceTextAlone');
  }
  const audio = await readAudio(path, around);
  return { audio, ...(text === undefined ? {} : { text }) };
}

/** `key=value`: a number, true, false, or the text as it stands. */
function readParameter(assignment: string): [string, number | boolean | string] {
  const equals = assignment.indexOf('=');
  if (equals < 1) {
    throw new CommandError('invalid_request', 'parameterNeedsEquals', { value: clip(assignment) });
  }
  const key = assignment.slice(0, equals).trim();
  const text = assignment.slice(equals + 1).trim();
  if (text === 'true' || text === 'false') return [key, text === 'true'];
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return [key, Number.isFinite(number) ? number : text];
}

/** `key=value`: the value is JSON where that fits the setting, else the text as it stands. */
export function readSetting(assignment: string): [string, unknown] {
  const equals = assignment.indexOf('=');
  if (equals < 1)
    throw new CommandError('invalid_request', 'settingNeedsEquals', { value: clip(assignment) });
  const key = assignment.slice(0, equals).trim();
  const text = assignment.slice(equals + 1).trim();
  if (!isSettingKey(key)) throw unknownSetting(key);
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    return [key, parseSetting(key, text)];
  }
  try {
    return [key, parseSetting(key, value)];
  } catch (error) {
    try {
      return [key, parseSetting(key, text)];
    } catch {
      throw error;
    }
  }
}

/** Names that promise what is not written. */
const otherFormats = /\.(mp3|flac|ogg|opus|m4a|aac|aiff?|wma|webm)$/i;

interface Target {
  /** As the person wrote it; `-` is the standard output. */
  file: string;
  prepare(): Promise<AudioOutput>;
}

function chooseTarget(parsed: Parsed, around: Surroundings): Target {
  const streamed = parsed.flags.has('stream');
  const file = parsed.strings.out ?? (streamed ? '-' : freeName(around.cwd));
  if (file === '-') {
    if (around.json) throw new CommandError('invalid_request', 'jsonAndStdout');
    if (around.stdout.isTTY) throw new CommandError('output_not_writable', 'wavToTerminal');
    const folder = join(studioFolders(around.env).cache, 'audio');
    const output = streamed
      ? new StreamOutput(around.stdout, folder)
      : new StdoutOutput(around.stdout, folder);
    return { file, prepare: async () => output };
  }
  if (streamed) throw new CommandError('invalid_request', 'streamNeedsStdout', { path: clip(file) });
  if (otherFormats.test(file)) {
    const message = around.messages.get('otherFormat', { file: clip(file) });
    remark(around, around.messages.get('warning', { message }));
  }
  return { file, prepare: () => FileOutput.prepare(resolve(around.cwd, file)) };
}

async function report(
  result: SpeakResult,
  target: Target,
  warnings: Said[],
  around: Surroundings,
): Promise<void> {
  if (around.json) {
    const { seconds, sample_rate, seed, rtf, engine, model, voice, applied, meta } = result;
    await printJson(around, {
      file: target.file,
      seconds,
      sample_rate,
      seed,
      rtf,
      engine,
      model,
      voice,
      applied,
      meta,
      warnings,
    });
    return;
  }
  const values = {
    seconds: result.seconds.toFixed(1),
    rate: result.sample_rate,
    speed: result.rtf > 0 ? factor(1 / result.rtf) : '-',
    seed: result.seed,
  };
  if (target.file === '-') remark(around, around.messages.get('savedStdout', values));
  else if (around.quiet) await print(around, target.file);
  else await print(around, around.messages.get('saved', { file: target.file, ...values }));
}

/** `12.3`, and below one two digits: a large model on a processor is `0.043`, not `0.0`. */
function factor(value: number): string {
  return value >= 1 ? value.toFixed(1) : String(Number(value.toPrecision(2)));
}

/**
 * Generation of Qwen3-TTS 0.6B, on random weights of the true sizes: ours against upstream's PyTorch code and, where they
 * are there, qwentts.cpp, in turn in one run.
 *
 *     npm run bench -- qwen3-tts [--rounds N] [--threads 1,2] [--frames N] [--python P] [--dtype float32,bfloat16]
 *                                [--qwentts FOLDER] [--checkpoint FOLDER]
 *
 * `P` is a Python with qwen-tts 0.1.1 (default: python3, where it has that); one thread and three rounds take about five
 * minutes. FOLDER of qwentts.cpp holds its program `qwen-tts` and, made by its own tools,
 * `talker.gguf` in BF16 of a model with the speaker Ryan, and `codec.gguf`; it takes half the processors, whatever is
 * asked. Loading ends when the model can be used; its values are then still looked at (`values checked`), which PyTorch does
 * not do. The checkpoint (1.8 GB) is written to the system's temporary folder and removed, unless one is named. The prompt
 * is 30 positions; frames are drawn with upstream's default settings, without an end.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CodePredictor, codePredictorName } from '../main/engines/qwen3-tts/code-predictor.ts';
import type { TalkerConfig } from '../main/engines/qwen3-tts/config.ts';
import { FrameGenerator, type GenerateOptions } from '../main/engines/qwen3-tts/generate.ts';
import { GenerationPasses } from '../main/engines/qwen3-tts/generate-passes.ts';
import { Talker, TextEmbedding, talkerName, textEmbeddingName } from '../main/engines/qwen3-tts/talker.ts';
import { decideUnits } from '../main/memory/units.ts';
import { loadWeights } from '../main/nn/checkpoint.ts';
import { GraphBuilder } from '../main/nn/graph.ts';
import type { Module } from '../main/nn/module.ts';
import { Random } from '../main/nn/random.ts';
import type { Addon, Device } from '../native/addon.ts';
import { loadAddon } from '../native/load.ts';
import { type Contender, compare, measure, option, orSay, root } from './lib/harness.ts';
import { peerPython, requirePeerFiles, upstreamQwen3 } from './lib/peer-python.ts';
import { talkerConfig, writeRandomCheckpoint } from './lib/qwen3-tts-checkpoint.ts';

const threadCounts = option('threads', '1').split(',').map(Number);
const frames = Number(option('frames', '12'));
const rounds = Number(option('rounds', '3'));
const positions = 30;
const drawing = { temperature: 0.9, top_k: 50 };
const config: TalkerConfig = {
  ...talkerConfig,
  rope_scaling: { rope_type: 'default' },
  code_predictor_config: { ...talkerConfig.code_predictor_config },
};

/** Highest anonymous memory of this process so far, MiB; mapped weights are the page cache's. */
let anonymous = 0;
function watchMemory(): NodeJS.Timeout {
  const look = (): void => {
    const found = /RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    if (found) anonymous = Math.max(anonymous, Number(found[1]) / 1024);
  };
  return setInterval(look, 20);
}

interface Networks {
  /** Settles once every value was looked at. */
  finite: Promise<unknown>;
  table: TextEmbedding;
  talker: Talker;
  predictor: CodePredictor;
}

/** As the studio loads it: every value is looked at meanwhile, but for the table of which few rows are read. */
async function load(addon: Addon, device: Device, folder: string): Promise<Networks> {
  const checkpoint = await addon.openCheckpoint([join(folder, 'model.safetensors')]);
  const checks: Promise<void>[] = [];
  const component = async <T extends Module>(
    name: string,
    module: T,
    rename: (name: string) => string | null,
    checkFinite: 'beside' | false = 'beside',
  ) => {
    const { unitOf, unitModules } = decideUnits(module);
    const { store, finite } = await loadWeights(addon, module, checkpoint, {
      component: name,
      device,
      rename,
      unitOf,
      unitModules,
      checkFinite,
    });
    checks.push(finite);
    store.bind(device);
    return module;
  };
  const networks = {
    talker: await component('talker', new Talker(config), talkerName),
    predictor: await component('code predictor', new CodePredictor(config), codePredictorName),
    table: await component('text embedding', new TextEmbedding(config), textEmbeddingName, false),
  };
  return { ...networks, finite: Promise.all(checks) };
}

const now = (): number => performance.now() / 1000;

/** Bytes a second at which products read a matrix that fits no cache. */
async function readRate(addon: Addon, device: Device, { table }: Networks): Promise<number> {
  const g = new GraphBuilder(addon);
  const x = g.input('x', 'f32', [1, config.text_hidden_size]);
  g.output('y', x.linear(g.weight(table.weight)));
  const arena = device.createArena();
  const graph = g.compile(device, arena);
  const input = new Float32Array(config.text_hidden_size).fill(0.1);
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 4; run++) {
    const start = now();
    await graph.run({ x: input }, { read: [] });
    best = Math.min(best, now() - start);
  }
  graph.dispose();
  arena.dispose();
  return (2 * table.weight.elements) / best;
}

function bytesOf(module: Module): number {
  let bytes = 0;
  for (const { parameter } of module.namedParameters())
    if (parameter.shape.length > 1) bytes += 2 * parameter.elements;
  return bytes;
}

/** Weights that one frame reads: looked-up tables aside, the talker's once, the predictor's layers for each code. */
function bytesPerFrame({ talker, predictor }: Networks): number {
  const layers = (list: Iterable<Module>): number =>
    [...list].reduce((sum, layer) => sum + bytesOf(layer), 0);
  const once = layers(talker.model.layers) + bytesOf(talker.codec_head) + layers(predictor.lm_head);
  return once + predictor.codes * layers(predictor.model.layers);
}

/** One contender's process: ours. */
async function worker(folder: string): Promise<void> {
  const threads = threadCounts[0]!;
  const watch = watchMemory();
  const addon = loadAddon();
  const device = await addon.openDevice({ name: 'CPU', threads });
  const begin = now();
  const networks = await load(addon, device, folder);
  const loaded = now();
  const { talker, predictor, finite } = networks;
  const checked = finite.then(now);
  const random = new Random(1);
  const vectors = (count: number) => random.fillNormal(new Float32Array(count * config.hidden_size), 0, 0.03);
  const prompt = { positions, rows: vectors(positions), trailing: new Float32Array(), pad: vectors(1) };

  const passes = await GenerationPasses.create(addon, device, { talker, predictor });
  const started = now();
  await passes.prefill(prompt.rows);
  const prompted = now();
  const sound = await checked;
  const noise = new Float32Array(predictor.codes * config.code_predictor_config.vocab_size);
  random.fillGumbel(noise);
  let predicting = 0;
  let stepping = 0;
  for (let frame = -1; frame < frames; frame++) {
    const from = now();
    const codes = await passes.predict(frame + 1, { options: drawing, noise });
    const between = now();
    await passes.step(prompt.pad);
    // The first records the graphs.
    if (frame < 0 || codes.length === 0) continue;
    predicting += between - from;
    stepping += now() - between;
  }
  await passes.dispose();

  const seconds: Record<string, number> = {};
  const generator = new FrameGenerator(addon, device, { talker, predictor, ids: config });
  for (const graphs of ['two', 'one', 'many'] as const) {
    const options: GenerateOptions = {
      sampling: { ...drawing, repetition_penalty: 1.05 },
      predictor: drawing,
      random: new Random(2),
      maxFrames: frames + 1,
      minFrames: frames + 1,
      graphs,
    };
    let first = 0;
    for await (const _ of generator.frames(prompt, options)) first ||= now();
    seconds[graphs] = (now() - first) / frames;
  }
  const rate = await readRate(addon, device, networks);
  clearInterval(watch);
  const bytes = bytesPerFrame(networks);
  const figures = {
    'load seconds': loaded - begin,
    'prompt seconds': prompted - started,
    'load and prompt seconds': loaded - begin + prompted - started,
    'values checked': sound - begin,
    'frames per second': 1 / seconds.two!,
    'seconds per frame': seconds.two!,
    'predictor share': predicting / (predicting + stepping),
    'peak anonymous MiB': anonymous,
    'frames per second, one graph': 1 / seconds.one!,
    'frames per second, a graph per code': 1 / seconds.many!,
    'MB read per frame': bytes / 1e6,
    'GB/s of large products': rate / 1e9,
    'seconds per frame at that rate': bytes / rate,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exit(0);
}

function ours(folder: string, threads: number): Contender {
  const self = fileURLToPath(import.meta.url);
  const args = [
    self,
    '--worker',
    '--checkpoint',
    folder,
    '--threads',
    String(threads),
    '--frames',
    String(frames),
  ];
  return {
    name: 'mizuoto',
    run: async () => {
      const { stdout, peakMib } = await measure(process.execPath, args);
      return { ...(JSON.parse(stdout) as Record<string, number>), 'peak RSS MiB': peakMib };
    },
  };
}

interface TorchResult {
  load_seconds: number;
  prompt_seconds: number;
  frame_seconds: number;
  predictor_seconds: number;
  peak_anon_mib: number;
}

function torch(folder: string, python: string, dtype: string, threads: number): Contender {
  const script = join(root, 'bench', 'peers', 'qwen3_tts_torch.py');
  return {
    name: `PyTorch ${dtype}`,
    run: async () => {
      const request = JSON.stringify({ checkpoint: folder, threads, frames, prompt: positions, dtype });
      const { stdout, peakMib } = await measure(python, [script], request);
      const result = JSON.parse(stdout) as TorchResult;
      return {
        'load seconds': result.load_seconds,
        'prompt seconds': result.prompt_seconds,
        'load and prompt seconds': result.load_seconds + result.prompt_seconds,
        'frames per second': 1 / result.frame_seconds,
        'seconds per frame': result.frame_seconds,
        'predictor share': result.predictor_seconds / result.frame_seconds,
        'peak anonymous MiB': result.peak_anon_mib,
        'peak RSS MiB': peakMib,
      };
    },
  };
}

/** Its own report, printed at the end: milliseconds per frame of the talker and of the code predictor. */
function qwentts(folder: string): Contender {
  return {
    name: 'qwentts.cpp BF16',
    run: async () => {
      const models = ['--model', join(folder, 'talker.gguf'), '--codec', join(folder, 'codec.gguf')];
      const limits = [
        '--speaker',
        'ryan',
        '--max-new',
        String(frames),
        '--seed',
        '1',
        '-o',
        join(folder, 'out.wav'),
      ];
      const args = ['-c', 'exec "$@" 2>&1', 'sh', join(folder, 'qwen-tts')];
      const text = 'The quick brown fox jumps over the lazy dog.';
      const { stdout, peakMib } = await measure('sh', [...args, ...models, ...limits], text);
      const figure = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? Number.NaN);
      const predictor = figure(/CodePredictor .*\(([\d.]+) ms\/frame/) / 1000;
      const frame = figure(/Total .* ([\d.]+) ms\/frame AR/) / 1000;
      return {
        'frames per second': 1 / frame,
        'seconds per frame': frame,
        'predictor share': predictor / frame,
        'peak RSS MiB': peakMib,
      };
    },
  };
}

async function main(): Promise<void> {
  const named = option('checkpoint', '');
  const peer = option('qwentts', '');
  if (peer !== '') requirePeerFiles('qwentts.cpp', peer, ['qwen-tts', 'talker.gguf', 'codec.gguf']);
  const python = await peerPython(upstreamQwen3);
  const folder = named === '' ? mkdtempSync(join(tmpdir(), 'mizuoto-bench-')) : named;
  try {
    if (named === '') writeRandomCheckpoint(folder);
    for (const threads of threadCounts) {
      const contenders = [ours(folder, threads)];
      if (peer !== '') contenders.push(qwentts(peer));
      const dtypes = option('dtype', 'bfloat16').split(',');
      if (python !== null) contenders.push(...dtypes.map((dtype) => torch(folder, python, dtype, threads)));
      await compare(`Qwen3-TTS 0.6B, ${frames} frames, ${threads} thread(s)`, contenders, rounds);
    }
  } finally {
    if (named === '') rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv.includes('--worker')) {
  await worker(option('checkpoint', ''));
} else {
  await orSay(main);
}

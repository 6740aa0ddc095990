/**
 * Qwen3-TTS's codec decoder at its published size (114 M parameters, random weights), against upstream's PyTorch code on
 * the same checkpoint and codes, in turn:
 * `npm run bench -- qwen3-codec --python PYTHON [--frames N] [--rounds N] [--threads 1,2]`
 * (a Python with qwen-tts 0.1.1, which makes the checkpoint too; 0.5 GB of temporary files; one thread and three rounds take
 * about three minutes). RTF = compute seconds / audio seconds, without start and
 * load; CPU per second = seconds of all cores per second of audio, which other programs disturb least.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CodecDecoder, codecDecoderName } from '../main/engines/qwen3-tts/codec-decoder.ts';
import { CodecDecoding } from '../main/engines/qwen3-tts/codec-decoding.ts';
import { codecTensors } from '../main/engines/qwen3-tts/codec-tensors.ts';
import type { CodecDecoderConfig } from '../main/engines/qwen3-tts/config.ts';
import { loadWeights } from '../main/nn/checkpoint.ts';
import { loadAddon } from '../native/load.ts';
import { compare, measure, option, orSay, root } from './lib/harness.ts';
import { peerPython, upstreamQwen3 } from './lib/peer-python.ts';

interface Figures {
  rtf: number;
  cpu: number;
  first: number;
  load: number;
}

const sampleRate = 24_000;

/** One contender's process: ours. */
async function worker(folder: string, frames: number, threads: number, streaming: boolean): Promise<Figures> {
  const addon = loadAddon();
  const device = await addon.openDevice({ name: 'CPU', threads });
  const began = performance.now();
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as CodecDecoderConfig;
  const checkpoint = await addon.openCheckpoint([join(folder, 'model.safetensors')]);
  const module = new CodecDecoder(config, codecTensors(checkpoint));
  const { store, finite } = await loadWeights(addon, module, checkpoint, {
    component: 'codec',
    device,
    rename: codecDecoderName,
    checkFinite: 'beside',
  });
  store.bind(device);
  await store.place(-1);
  const load = (performance.now() - began) / 1000;
  await finite;
  const rows = JSON.parse(readFileSync(join(folder, 'codes.json'), 'utf8')) as number[][];
  const codes = Int32Array.from(rows.slice(0, frames).flat());
  const decoding = new CodecDecoding({ addon, device, module });
  // Graphs of all lengths are built, as in a program that has spoken before.
  await decoding.decode(codes);
  const stream = await decoding.start();
  const asked = performance.now();
  await stream.push(codes.subarray(0, decoding.quantizers));
  const first = (performance.now() - asked) / 1000;
  stream.close();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const samples = streaming ? await frameByFrame(decoding, codes) : await decoding.decode(codes);
  const seconds = (performance.now() - start) / 1000;
  const spent = process.cpuUsage(cpu);
  writeFileSync(join(folder, 'mizuoto.f32'), samples);
  await decoding.dispose();
  await store.dispose();
  await device.close();
  const audio = samples.length / sampleRate;
  return { rtf: seconds / audio, cpu: (spent.user + spent.system) / 1e6 / audio, first, load };
}

async function frameByFrame(decoding: CodecDecoding, codes: Int32Array): Promise<Float32Array> {
  const stream = await decoding.start();
  const samples = new Float32Array((codes.length / decoding.quantizers) * decoding.samplesPerFrame);
  let written = 0;
  const write = (piece: Float32Array): void => {
    samples.set(piece, written);
    written += piece.length;
  };
  for (let at = 0; at < codes.length; at += decoding.quantizers) {
    write(await stream.push(codes.subarray(at, at + decoding.quantizers)));
  }
  write(await stream.finish());
  return samples;
}

function readSamples(file: string): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(file)).buffer);
}

async function main(): Promise<void> {
  const frames = Number(option('frames', '40'));
  const rounds = Number(option('rounds', '3'));
  const python = await peerPython(upstreamQwen3);
  if (python === null) throw new Error('The checkpoint is made by it: there is nothing to measure without.');
  const peer = join(root, 'bench', 'peers', 'qwen3_codec_torch.py');
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-bench-'));
  try {
    await measure(python, [peer, 'make', folder]);
    for (const threads of option('threads', '1').split(',').map(Number)) {
      const figures = async (command: string, args: string[]) => {
        const { stdout, peakMib } = await measure(command, args);
        // Upstream greets before it answers.
        const answer = stdout.trim().split('\n').at(-1)!;
        const { rtf, cpu, first, load } = JSON.parse(answer) as Figures;
        return {
          RTF: rtf,
          'CPU per second': cpu,
          'first chunk seconds': first,
          'load seconds': load,
          'peak RSS MiB': peakMib,
        };
      };
      const ours = (mode: 'offline' | 'streaming') => () =>
        figures(process.execPath, [
          ...[fileURLToPath(import.meta.url), '--worker', folder, '--mode', mode],
          ...['--frames', String(frames), '--threads', String(threads)],
        ]);
      await compare(
        `Qwen3-TTS codec decoder, ${frames} frames of 80 ms, ${threads} thread(s)`,
        [
          { name: 'mizuoto, whole', run: ours('offline') },
          { name: 'mizuoto, frame by frame', run: ours('streaming') },
          {
            name: 'upstream PyTorch',
            run: () => figures(python, [peer, 'run', folder, String(frames), String(threads)]),
          },
        ],
        rounds,
      );
    }
    const [made, expected] = [
      readSamples(join(folder, 'mizuoto.f32')),
      readSamples(join(folder, 'torch.f32')),
    ];
    let difference = made.length === expected.length ? 0 : Number.POSITIVE_INFINITY;
    let peak = 0;
    for (const [i, value] of expected.entries()) {
      difference = Math.max(difference, Math.abs(made[i]! - value));
      peak = Math.max(peak, Math.abs(value));
    }
    process.stdout.write(
      `Largest difference of samples: ${difference.toExponential(2)}, peak ${peak.toFixed(3)}\n`,
    );
    if (!(difference < 1e-3)) throw new Error('The contenders made different samples.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv.includes('--worker')) {
  const frames = Number(option('frames', '40'));
  const threads = Number(option('threads', '1'));
  const streaming = option('mode', 'offline') === 'streaming';
  const figures = await worker(option('worker', ''), frames, threads, streaming);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} else {
  await orSay(main);
}

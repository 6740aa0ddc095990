import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository: bundled benchmarks run from dist/bench/. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface Sample {
  wallSeconds: number;
  /** Highest resident set of the process, MiB; NaN where the system does not tell (only Linux does). */
  peakMib: number;
  stdout: string;
}

/** Run one command to its end and watch its memory. */
export function measure(command: string, args: string[], input?: string): Promise<Sample> {
  return new Promise((done, fail) => {
    const started = process.hrtime.bigint();
    const child = spawn(command, args, { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let peakKib = Number.NaN;
    // VmHWM only grows, so the last reading before the end is the peak.
    const watch = setInterval(() => {
      try {
        const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
        if (found) peakKib = Number(found[1]);
      } catch {}
    }, 10);
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', fail);
    child.on('close', (code) => {
      clearInterval(watch);
      if (code !== 0)
        return fail(new Error(`${command} ${args[0] ?? ''} ended with ${code}: ${stderr.slice(-2000)}`));
      done({ wallSeconds: Number(process.hrtime.bigint() - started) / 1e9, peakMib: peakKib / 1024, stdout });
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input ?? '');
  });
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export interface Contender {
  name: string;
  /** One run; figures by name. */
  run(): Promise<Record<string, number>>;
}

/**
 * Runs the contenders in turn (A B A B ...) after one warm-up each, so that a machine whose speed drifts is fair to
 * all, and prints the median of each figure and its ratio to the last contender, the peer.
 */
export async function compare(title: string, contenders: Contender[], rounds: number): Promise<void> {
  process.stdout.write(`${title} (${rounds} rounds in turn, medians)\n`);
  for (const contender of contenders) await contender.run();
  const results = contenders.map(() => new Map<string, number[]>());
  for (let round = 0; round < rounds; round++) {
    for (const [i, contender] of contenders.entries()) {
      for (const [name, value] of Object.entries(await contender.run())) {
        results[i]!.set(name, [...(results[i]!.get(name) ?? []), value]);
      }
    }
  }
  const peer = results.at(-1)!;
  for (const [i, contender] of contenders.entries()) {
    process.stdout.write(`  ${contender.name}\n`);
    for (const [name, values] of results[i]!) {
      const range = `${format(Math.min(...values))} to ${format(Math.max(...values))}`;
      const base = peer.get(name);
      const pairs = base?.map((value, round) => values[round]! / value);
      const ratio =
        pairs && i < contenders.length - 1
          ? `  ratio to ${contenders.at(-1)!.name}: ${median(pairs).toFixed(3)}`
          : '';
      process.stdout.write(
        `    ${name.padEnd(24)} ${format(median(values)).padStart(10)}  (${range})${ratio}\n`,
      );
    }
  }
}

function format(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(4);
}

/** A benchmark whose failure is a sentence, not a stack. */
export async function orSay(benchmark: () => Promise<void>): Promise<void> {
  try {
    await benchmark();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** `--name value` of the benchmark's own command line. */
export function option(name: string, fallback: string): string {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : (process.argv[index + 1] ?? fallback);
}

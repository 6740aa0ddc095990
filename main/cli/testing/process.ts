import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Outcome {
  /** Exit code, or the signal's name. */
  exit: number | string | null;
  stdout: Buffer;
  stderr: string;
  /** Largest resident memory seen while it ran, MiB (Linux; 0 elsewhere). */
  peakMb: number;
}

export interface StartOptions {
  cwd: string;
  /** Null: the standard input stays open. */
  input?: string | Buffer | null;
  env?: Record<string, string>;
}

/** Start the bundled command line as a process of its own, over the scripted engines. */
export function start(cli: string, args: string[], { cwd, input, env = {} }: StartOptions) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      LANG: 'C.UTF-8',
      MIZUOTO_HOME: `${cwd}/.home`,
      MIZUOTO_TEST_ENGINES: '1',
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  // A terminal that nobody types into is an open pipe; without input the process sees its end at once.
  if (input !== null) child.stdin.end(input ?? '');
  return { child, outcome: settle(child) };
}

function settle(child: ChildProcess): Promise<Outcome> {
  const stdout: Buffer[] = [];
  let stderr = '';
  let peakMb = 0;
  child.stdout!.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr!.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const poll = setInterval(() => {
    peakMb = Math.max(peakMb, residentPeak(child.pid));
  }, 20);
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearInterval(poll);
      resolve({ exit: code ?? signal, stdout: Buffer.concat(stdout), stderr, peakMb });
    });
  });
}

function residentPeak(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

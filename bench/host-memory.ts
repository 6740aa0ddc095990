/**
 * Host memory that loading a checkpoint takes: a random one is made on the spot, loaded as a component by a process of
 * its own, and that process's anonymous memory (what it owns: the page cache of mapped files is not among it) is watched.
 *
 *   npm run bench -- host-memory [--mib N] [--python PYTHON]      (a Python with torch and safetensors: the peer)
 *
 * Bounds: weights that are used as they are: one tensor, beside the page cache. Weights that are converted: their size
 * plus one tensor, in plain memory as in page-locked memory. Where memory is shared, weights in place: nothing beside the page cache, the device's own memory
 * counted. The software Vulkan device has no bf16: it gets the same bytes as f16. Ends with 1 where one is broken. Linux only: elsewhere the system does not tell.
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAddon } from '../native/load.ts';
import { option, root } from './lib/harness.ts';
import { type Loaded, loadOnce, type SharedWay, type Way } from './lib/load-once.ts';
import { type RandomCheckpoint, writeCheckpoint } from './lib/random-checkpoint.ts';

const MiB = 2 ** 20;
/** Graphs, tables, the collector: what has nothing to do with the weights. */
const slackMiB = 24;
/** And kernels that a driver compiles. */
const sharedSlackMiB = 64;

interface Peak {
  anonymousMiB: number;
  fileMiB: number;
  seconds: number;
  /** Bytes that a simulated device holds: the card's memory, not the host's. */
  deviceMiB: number;
  ownedMiB: number;
  mappedMiB: number;
  placedSeconds: number;
  againSeconds: number;
}

function statusOf(pid: number): { anonymous: number; file: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN);
    // Drivers take memory that is shared with nobody.
    return { anonymous: (kib('RssAnon') + kib('RssShmem')) / 1024, file: kib('RssFile') / 1024 };
  } catch {
    return null;
  }
}

/** The process says `ready`, loads when it is told to, and says what it has; its memory is watched in between. */
function watch(command: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Peak> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    let baseline = { anonymous: 0, file: 0 };
    let peak = { anonymous: 0, file: 0 };
    let began = 0;
    let text = '';
    const look = (): void => {
      const now = statusOf(child.pid!);
      if (now === null) return;
      peak = {
        anonymous: Math.max(peak.anonymous, now.anonymous),
        file: Math.max(peak.file, now.file),
      };
    };
    let timer: NodeJS.Timeout | undefined;
    child.on('error', reject);
    child.stdout.on('data', (data: Buffer) => {
      text += data;
      if (began === 0 && text.includes('ready\n')) {
        baseline = statusOf(child.pid!) ?? baseline;
        began = performance.now();
        timer = setInterval(look, 1);
        child.stdin.write('go\n');
      }
      if (!text.includes('loaded ')) return;
      look();
      clearInterval(timer);
      child.stdin.end();
    });
    child.on('close', (code) => {
      clearInterval(timer);
      const line = /loaded (\{.*\})/.exec(text)?.[1];
      if (code !== 0 || line === undefined) return reject(new Error(`${args[0]} ended with ${code}.`));
      const said = JSON.parse(line) as { seconds: number } & Partial<Loaded>;
      const deviceMiB = (said.deviceBytes ?? 0) / MiB;
      resolve({
        anonymousMiB: peak.anonymous - baseline.anonymous - deviceMiB,
        fileMiB: peak.file - baseline.file,
        seconds: said.seconds,
        deviceMiB,
        ownedMiB: (said.ownedBytes ?? 0) / MiB,
        mappedMiB: (said.mappedBytes ?? 0) / MiB,
        placedSeconds: said.placedSeconds ?? 0,
        againSeconds: said.againSeconds ?? 0,
      });
    });
  });
}

const ways: { way: Way; what: string }[] = [
  { way: 'cpu', what: 'processor, bf16 as it is' },
  { way: 'simulated', what: 'simulated device, bf16 as it is' },
  { way: 'cpu-f32', what: 'processor, widened to f32' },
  { way: 'cpu-f16', what: 'processor, narrowed to f16' },
  { way: 'cpu-q8_0', what: 'processor, quantised to q8_0' },
];

async function compareAll(checkpoint: RandomCheckpoint): Promise<boolean> {
  const self = fileURLToPath(import.meta.url);
  const { bytes, largestBytes } = checkpoint;
  const tensorMiB = largestBytes / MiB;
  process.stdout.write(
    `A checkpoint of ${(bytes / MiB).toFixed(0)} MiB in bf16, largest tensor ${tensorMiB.toFixed(0)} MiB\n` +
      'Peak of owned host memory (the page cache of the mapped file is not owned):\n',
  );
  const line = (what: string, peak: Peak, verdict: string): void => {
    process.stdout.write(
      `  ${what.padEnd(34)} ${peak.anonymousMiB.toFixed(0).padStart(6)} MiB  (page cache ${peak.fileMiB.toFixed(0)}, ` +
        `${peak.seconds.toFixed(1)} s)  ${verdict}\n`,
    );
  };
  let kept = true;
  for (const { way, what } of ways) {
    const args = ['--expose-gc', self, '--load', way, '--file', checkpoint.path];
    const peak = await watch(process.execPath, args);
    const bound = peak.ownedMiB + tensorMiB + slackMiB;
    const holds = peak.anonymousMiB <= bound;
    kept &&= holds;
    const most = `${peak.ownedMiB.toFixed(0)} kept + ${tensorMiB.toFixed(0)} + ${slackMiB}`;
    line(what, peak, holds ? `within ${most}` : `ABOVE ${most}`);
  }
  const python = option('python', '');
  if (python !== '') {
    const peer = join(root, 'bench', 'peers', 'host_memory_torch.py');
    for (const how of ['safetensors', 'module']) {
      const peak = await watch(python, [peer, how, checkpoint.path], { OMP_NUM_THREADS: '1' });
      line(`PyTorch, ${how === 'module' ? 'into a module' : 'load_file'}`, peak, '');
    }
  }
  return kept;
}

/** Copied and in place, in turn; false where what is in place takes memory of its own. */
async function compareShared(
  device: string,
  ways: SharedWay[],
  checkpoint: RandomCheckpoint,
): Promise<boolean> {
  process.stdout.write(`\n${device}, ${(checkpoint.bytes / MiB).toFixed(0)} MiB of weights:\n`);
  let kept = true;
  for (const way of ways) {
    const args = ['--expose-gc', fileURLToPath(import.meta.url), '--load', way, '--file', checkpoint.path];
    const peak = await watch(process.execPath, args);
    const run = peak.seconds - peak.placedSeconds;
    const inPlace = way.endsWith('-mapped');
    const holds =
      !inPlace || (peak.mappedMiB * MiB === checkpoint.bytes && peak.anonymousMiB <= sharedSlackMiB);
    kept &&= holds;
    process.stdout.write(
      `  ${(inPlace ? 'in place' : 'copied').padEnd(9)} ${peak.anonymousMiB.toFixed(0).padStart(5)} MiB taken, page cache ` +
        `${peak.fileMiB.toFixed(0)}, in place ${peak.mappedMiB.toFixed(0)}; placed in ${peak.placedSeconds.toFixed(3)} s, ` +
        `first run ${run.toFixed(2)} s${holds ? '' : `  ABOVE ${sharedSlackMiB} MiB`}\n`,
    );
  }
  return kept;
}

/** Host copies in plain and in page-locked memory, in turn; false where the latter take more than one tensor more. */
async function comparePinned(name: string, device: string, checkpoint: RandomCheckpoint): Promise<boolean> {
  const { path, bytes, largestBytes } = checkpoint;
  process.stdout.write(`\n${name}, ${(bytes / MiB).toFixed(0)} MiB widened to f32, a host copy kept:\n`);
  const self = fileURLToPath(import.meta.url);
  const peaks: Peak[] = [];
  for (const way of [`${device}-converted`, `${device}-converted-pinned`]) {
    const peak = await watch(process.execPath, ['--expose-gc', self, '--load', way, '--file', path]);
    peaks.push(peak);
    process.stdout.write(
      `  ${(way.endsWith('-pinned') ? 'page-locked' : 'plain').padEnd(12)} ${peak.anonymousMiB.toFixed(0).padStart(5)} MiB taken, ` +
        `placed in ${peak.placedSeconds.toFixed(2)} s, again in ${peak.againSeconds.toFixed(3)} s\n`,
    );
  }
  const [plain, pinned] = peaks as [Peak, Peak];
  const most = plain.anonymousMiB + (2 * largestBytes) / MiB + slackMiB;
  const holds = pinned.anonymousMiB <= most;
  const ratio = (of: (peak: Peak) => number) => (of(pinned) / of(plain)).toFixed(2);
  process.stdout.write(
    `  page-locked / plain: memory ${ratio((peak) => peak.anonymousMiB)}, placed ${ratio((peak) => peak.placedSeconds)}, ` +
      `again ${ratio((peak) => peak.againSeconds)}${holds ? '' : `  ABOVE ${most.toFixed(0)} MiB`}\n`,
  );
  return holds;
}

const load = option('load', '');
if (load !== '') {
  const said = await loadOnce(load as Way, option('file', ''), async () => {
    process.stdout.write('ready\n');
    await new Promise((resolve) => process.stdin.once('data', resolve));
  });
  process.stdout.write(`loaded ${JSON.stringify(said)}\n`);
  // Until it was looked at.
  await new Promise((resolve) => process.stdin.once('end', resolve).resume());
  process.exit(0);
} else if (process.platform !== 'linux') {
  process.stdout.write('Only Linux tells anonymous memory apart from mapped files: nothing was measured.\n');
} else {
  const folder = await mkdtemp(join(tmpdir(), 'mizuoto-host-memory-'));
  try {
    const checkpoint = await writeCheckpoint(
      join(folder, 'random.safetensors'),
      Number(option('mib', '600')),
    );
    let kept = await compareAll(checkpoint);
    kept =
      (await compareShared('A unified simulated device', ['unified-copied', 'unified-mapped'], checkpoint)) &&
      kept;
    kept = (await comparePinned('A simulated card', 'simulated', checkpoint)) && kept;
    if (
      loadAddon()
        .devices()
        .some(({ name }) => name === 'Vulkan0')
    ) {
      const half = await writeCheckpoint(checkpoint.path, Number(option('mib', '600')), 'F16');
      kept = (await compareShared('Vulkan0', ['vulkan-copied', 'vulkan-mapped'], half)) && kept;
      kept = (await comparePinned('Vulkan0', 'vulkan', half)) && kept;
    }
    process.exitCode = kept ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

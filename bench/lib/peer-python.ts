import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { measure, option } from './harness.ts';

/** What a Python peer needs. */
export interface PeerPython {
  /** Who it is, for messages: `upstream's PyTorch code`. */
  name: string;
  /** Modules that have to be there. */
  modules: readonly string[];
  /** Packages to install. */
  packages: string;
}

export const upstreamQwen3: PeerPython = {
  name: "upstream's PyTorch code",
  modules: ['torch', 'safetensors', 'qwen_tts'],
  packages: 'qwen-tts==0.1.1',
};

/**
 * `--python`, or `python3` where that has all the peer needs. Null: there is none, and how to get one has been said.
 *
 * @throws Error where `--python` names one that cannot be used
 */
export async function peerPython({ name, modules, packages }: PeerPython): Promise<string | null> {
  const named = option('python', '');
  const python = named === '' ? 'python3' : named;
  const missing = await missingModules(python, modules);
  if (missing === null) return python;
  const how = `python3 -m venv VENV && VENV/bin/pip install ${packages}, then --python VENV/bin/python`;
  if (named !== '') throw new Error(`${python} cannot run ${name}: ${missing}. Make one that can: ${how}.`);
  process.stdout.write(`Without ${name}: ${python}: ${missing}. To compare with it: ${how}.\n`);
  return null;
}

/** Null: none. Looked for, not imported: that takes many seconds. */
async function missingModules(python: string, modules: readonly string[]): Promise<string | null> {
  const script =
    'import importlib.util, sys; print(" ".join(m for m in sys.argv[1:] if importlib.util.find_spec(m) is None))';
  try {
    const { stdout } = await measure(python, ['-c', script, ...modules]);
    return stdout.trim() === '' ? null : `${stdout.trim().split(' ').join(', ')} not found`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether a peer that is built elsewhere is complete. @throws Error that names what is missing */
export function requirePeerFiles(name: string, folder: string, files: readonly string[]): void {
  const missing = files.filter((file) => !existsSync(join(folder, file)));
  if (missing.length === 0) return;
  throw new Error(
    `${name} is not in "${folder}": ${missing.join(', ')} not found. Build it and convert its models there.`,
  );
}

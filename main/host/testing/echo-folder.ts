import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An empty checkpoint: a header of two bytes, `{}`. */
export const emptyCheckpoint = Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0x7d]);

/** Makes a folder with a model of the echo engine in it and answers its path. */
export function echoFolder(parent: string, name: string, config: object = {}): string {
  const folder = join(parent, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ engine: 'echo', ...config }));
  writeFileSync(join(folder, 'model.safetensors'), emptyCheckpoint);
  return folder;
}

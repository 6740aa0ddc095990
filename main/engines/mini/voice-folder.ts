import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { StudioError } from '../../contract/errors.ts';

/** Where the voice lies relative to this module: in the source tree, in a bundle under dist/main. */
const places = ['../../../app/resources/mini-voice', '../../app/resources/mini-voice'];

/**
 * Folder of the built-in voice.
 *
 * @throws StudioError `checkpoint_missing` where the installation lacks it
 */
export function builtInVoiceFolder(): string {
  const tried = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  // A packaged application is an archive; files that are mapped into memory lie unpacked beside it.
  const unpacked = tried.map((place) => place.replace(/app\.asar(?=[\\/])/, 'app.asar.unpacked'));
  const found = [...unpacked, ...tried].find((place) => existsSync(path.join(place, 'config.json')));
  if (found) return found;
  throw new StudioError(
    'checkpoint_missing',
    'The built-in voice is missing from the installation. Install the studio again.',
    { params: { path: tried[0]!, installation: tried[0]! }, detail: tried.join('\n') },
  );
}

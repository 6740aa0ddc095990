import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

/** Where the assets lie relative to this module: in the source tree, in a bundle, in a bundle beside it. */
const places = ['./assets/', '../main/assets/', '../../main/text/assets/'];

/** Path of a packed asset of main/text. Throws where the installation lacks it. */
export function assetPath(name: string): string {
  const tried = places.map((place) => fileURLToPath(new URL(place + name, import.meta.url)));
  const found = tried.find((path) => existsSync(path));
  if (found) return found;
  throw new Error(
    `The file ${name} is missing from the installation (looked at ${tried.join(', ')}). Install again.`,
  );
}

/** Unpacked bytes of an asset. */
export function readAsset(name: string): Uint8Array {
  return gunzipSync(readFileSync(assetPath(name)));
}

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { StudioError } from '../contract/errors.ts';

/** Where the assets lie relative to this module: in the source tree or beside a bundle, for a bundle of dist/app or dist/bench. */
const places = ['./assets/', '../main/assets/', '../../main/text/assets/'];

/** Path of a packed asset of main/text. @throws StudioError `checkpoint_missing` where the installation lacks it */
export function assetPath(name: string): string {
  const tried = places.map((place) => fileURLToPath(new URL(place + name, import.meta.url)));
  const found = tried.find((path) => existsSync(path));
  if (found) return found;
  throw new StudioError(
    'checkpoint_missing',
    `The file ${name}, which text is read with, is missing from the installation. Install Mizuoto again.`,
    { params: { path: name, installation: name }, detail: `Looked at ${tried.join(', ')}.` },
  );
}

/** Unpacked bytes of an asset. @throws StudioError `checkpoint_missing`, `checkpoint_invalid` */
export function readAsset(name: string): Uint8Array {
  const path = assetPath(name);
  try {
    return gunzipSync(readFileSync(path));
  } catch (cause) {
    throw damagedAsset(name, cause instanceof Error ? cause.message : String(cause));
  }
}

/** The file is there but does not hold what it should. */
export function damagedAsset(name: string, detail: string): StudioError {
  return new StudioError(
    'checkpoint_invalid',
    `The file ${name}, which text is read with, is damaged. Install Mizuoto again.`,
    { params: { path: name, installation: name }, detail },
  );
}

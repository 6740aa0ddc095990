/** Finds and loads the addon. Everything else in TypeScript sees it through the types of addon.ts. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addon, DType, NativeError, NativeErrorCode } from './addon.ts';

export interface LoadOptions {
  /** Folder with mizuoto.node and ggml's libraries (a packaged application passes its resources folder). */
  folder?: string;
}

const addonFile = 'mizuoto.node';

/**
 * Folder that the addon is loaded from: the option, else the environment's MIZUOTO_NATIVE_DIR, else `native/out` of
 * the repository that this module (or the bundle it is part of) lies in.
 *
 * @throws NativeError BackendMissing that says what to run.
 */
export function nativeFolder(options: LoadOptions = {}): string {
  const named = options.folder ?? process.env.MIZUOTO_NATIVE_DIR;
  if (named) {
    const folder = resolve(named);
    if (existsSync(join(folder, addonFile))) return folder;
    throw nativeError('BackendMissing', `There is no ${addonFile} in ${folder}.`, { folder });
  }
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    for (const candidate of [join(folder, 'out'), join(folder, 'native', 'out')]) {
      if (existsSync(join(candidate, addonFile))) return candidate;
    }
    const parent = dirname(folder);
    if (parent === folder) break;
    folder = parent;
  }
  throw nativeError(
    'BackendMissing',
    `The native core is not built (no native/out/${addonFile}). Run: npm run setup`,
  );
}

/**
 * Loads the addon and ggml's backends. Repeated calls, also from other threads, give the same process-wide backends.
 *
 * @throws NativeError BackendMissing where the addon or a library beside it cannot be loaded.
 */
export function loadAddon(options: LoadOptions = {}): Addon {
  const folder = nativeFolder(options);
  let addon: Addon;
  try {
    addon = createRequire(import.meta.url)(join(folder, addonFile)) as Addon;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw nativeError('BackendMissing', `The native core in ${folder} cannot be loaded: ${reason}`, {
      folder,
    });
  }
  // ggml-cuda locks host memory where it lies only where this is set; what it refuses is pinned in buffers.
  process.env.GGML_CUDA_REGISTER_HOST ??= '1';
  addon.loadBackends(folder);
  return addon;
}

/** A failure in the shape of the addon's own. */
export function nativeError(
  code: NativeErrorCode,
  message: string,
  details?: Record<string, string | number>,
): NativeError {
  return Object.assign(new Error(message), { code, ...(details ? { details } : {}) });
}

/** Numbers of types in parameters of operations (`cast`, `im2col`): ggml's `enum ggml_type`. */
export const dtypeCode: Record<DType, number> = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_1: 3,
  q5_0: 6,
  q5_1: 7,
  q8_0: 8,
  q2_K: 10,
  q3_K: 11,
  q4_K: 12,
  q5_K: 13,
  q6_K: 14,
  iq4_nl: 20,
  iq4_xs: 23,
  i8: 24,
  i16: 25,
  i32: 26,
  i64: 27,
  f64: 28,
  bf16: 30,
};

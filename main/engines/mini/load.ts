import path from 'node:path';
import type { Addon, Checkpoint } from '../../../native/addon.ts';
import { StudioError } from '../../contract/errors.ts';
import { loadComponent } from '../../memory/load-component.ts';
import type { ModelHandle } from '../../memory/model-handle.ts';
import type { DTypePolicy } from '../../nn/dtypes.ts';
import type { LoadedParts, ModelLoadContext } from '../../runtime/model-source.ts';
import { MiniAcoustic } from './acoustic.ts';
import { readMiniConfig } from './config.ts';
import { englishReader } from './english.ts';
import { MiniNetworks } from './networks.ts';
import { MiniEngine } from './speak.ts';
import { SynthesisTables } from './synthesis.ts';
import type { TextReader } from './utterances.ts';
import { MiniVocoder } from './vocoder.ts';

export interface MiniLoadOptions {
  addon: Addon;
  /** Folder of the voice: config.json, phones.json and the two checkpoints. */
  folder: string;
  /** Default: `keep` (float16). */
  dtype?: DTypePolicy;
  /** Default: English text. */
  readText?: TextReader;
}

/**
 * Reads the voice: two components, nothing on the device yet.
 *
 * @throws StudioError `checkpoint_missing`, `checkpoint_invalid`, `checkpoint_mismatch`, `weights_not_finite`;
 *   NativeError for files that are no checkpoints
 */
export async function loadMini(
  { addon, folder, dtype = 'keep', readText }: MiniLoadOptions,
  { book, signal, progress }: ModelLoadContext,
): Promise<LoadedParts<MiniEngine> & { networks: MiniNetworks }> {
  const config = await readMiniConfig(folder);
  const reader =
    readText ?? (await englishReader(path.join(folder, config.phones), config.acoustic.n_phones));
  const handles: ModelHandle[] = [];
  const checkpoints: Checkpoint[] = [];
  try {
    for (const component of ['acoustic', 'vocoder'] as const) {
      if (signal?.aborted) throw new StudioError('cancelled', 'Cancelled; nothing was saved.');
      const checkpoint = await addon.openCheckpoint([path.join(folder, config[component].weights)]);
      checkpoints.push(checkpoint);
      const module = component === 'acoustic' ? new MiniAcoustic(config) : new MiniVocoder(config);
      const options = {
        addon,
        engine: 'mini',
        model: 'mini',
        kind: 'oneshot',
        component,
        module,
        checkpoint,
      } as const;
      const { handle } = await loadComponent({ ...options, book, dtype });
      handles.push(handle);
      progress(handles.length / 2);
    }
    const networks = new MiniNetworks(addon, book, config, handles[0]!, handles[1]!);
    const value = new MiniEngine(networks, new SynthesisTables(config), reader);
    const unload = async (): Promise<void> => {
      await value.unload();
      for (const checkpoint of checkpoints) checkpoint.close();
    };
    return { value, handles, caches: [networks.graphs], networks, unload };
  } catch (error) {
    for (const handle of handles) await handle.dispose();
    for (const checkpoint of checkpoints) checkpoint.close();
    throw error;
  }
}

import { StudioError } from '../contract/index.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { SpeechBackend } from './backend.ts';
import type { Host } from './host.ts';
import type { HostOptions } from './protocol.ts';
import { ToneBackend } from './testing/tone-engine.ts';

/** The real engines on the devices of this machine, or the scripted ones of the tests. */
export async function createBackend(
  options: HostOptions,
  _log: Host['log'],
  _settings: SettingsStore,
): Promise<SpeechBackend> {
  if (options.testEngines) return new ToneBackend();
  throw new StudioError('backend_missing', 'The native core is missing. Run "npm run setup" and try again.');
}

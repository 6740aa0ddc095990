import { loadAddon } from '../../native/load.ts';
import { engines } from '../engines/registry.ts';
import { RuntimeService } from '../runtime/index.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { VoicePrompts } from '../voices/voice-prompts.ts';
import type { SpeechBackend } from './backend.ts';
import { EngineBackend } from './engine-backend.ts';
import type { Host } from './host.ts';
import type { StartDeviceProcess } from './isolated/device-task.ts';
import type { HostOptions } from './protocol.ts';
import { ToneBackend } from './testing/tone-engine.ts';

/** The real engines on the devices of this machine, or the scripted ones of the tests. */
export async function createBackend(
  options: HostOptions,
  log: Host['log'],
  settings: SettingsStore,
  voicePrompts: VoicePrompts,
  startProcess?: StartDeviceProcess,
): Promise<SpeechBackend> {
  if (options.testEngines) return new ToneBackend();
  const runtime = await RuntimeService.open({
    addon: loadAddon(),
    settings: settings.get(),
    cacheFolder: options.cacheFolder,
    warn: (message, said) => log('warning', message, said),
  });
  return new EngineBackend(runtime, engines, { startProcess, voicePrompts });
}

import { loadAddon } from '../../native/load.ts';
import { say } from '../contract/index.ts';
import { engines } from '../engines/registry.ts';
import { RuntimeService } from '../runtime/index.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { VoicePrompts } from '../voices/voice-prompts.ts';
import type { SpeechBackend } from './backend.ts';
import { EngineBackend } from './engine-backend.ts';
import { EngineGone } from './engine-process/remote-engine.ts';
import { SupervisedBackend } from './engine-process/supervised-backend.ts';
import type { Host } from './host.ts';
import { InstalledEngines } from './installed-engines.ts';
import { endText, type StartProcess } from './isolated/own-process.ts';
import type { HostOptions } from './protocol.ts';
import { ToneBackend } from './testing/tone-engine.ts';

/** The real engines on the devices of this machine, or the scripted ones of the tests; here, or in their own process. */
export async function createBackend(
  options: HostOptions,
  log: Host['log'],
  settings: SettingsStore,
  voicePrompts: VoicePrompts,
  startProcess?: StartProcess,
): Promise<SpeechBackend> {
  if (options.engineProcess && startProcess !== undefined) {
    try {
      return await superviseEngines(options, log, settings, startProcess);
    } catch (error) {
      // A driver that crashed as it was loaded would take the studio along.
      if (!(error instanceof EngineGone)) throw error;
      const said = say('engine_in_host', { how: endText(error.end) });
      log('warning', said.message, said);
    }
  }
  if (options.testEngines) return new ToneBackend();
  const runtime = await RuntimeService.open({
    addon: loadAddon(),
    settings: settings.get(),
    cacheFolder: options.cacheFolder,
    warn: (message, said) => log('warning', message, said),
  });
  const startDeviceProcess = startProcess && (() => startProcess('device-process'));
  return new EngineBackend(runtime, engines, { startProcess: startDeviceProcess, voicePrompts });
}

function superviseEngines(
  { cacheFolder, testEngines }: HostOptions,
  log: Host['log'],
  settings: SettingsStore,
  startProcess: StartProcess,
): Promise<SupervisedBackend> {
  const known = testEngines ? new ToneBackend() : new InstalledEngines(engines);
  return SupervisedBackend.open({
    cacheFolder,
    testEngines,
    settings: settings.get(),
    known,
    startProcess,
    log,
  });
}

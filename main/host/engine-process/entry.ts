import { loadAddon } from '../../../native/load.ts';
import { engines } from '../../engines/registry.ts';
import { RuntimeService } from '../../runtime/index.ts';
import { PromptStore } from '../../voices/prompt-store.ts';
import { EngineBackend } from '../engine-backend.ts';
import { parentOf } from '../isolated/own-process.ts';
import { promptFolder } from '../prompt-folder.ts';
import { losingDevices } from '../testing/losing-devices.ts';
import { ToneSide } from '../testing/tone-side.ts';
import { type EngineMaker, serveEngine } from './serve.ts';

const make: EngineMaker = async (options, log, startProcess) => {
  const { cacheFolder, settings, passOver } = options;
  if (options.testEngines) return new ToneSide();
  const runtime = await RuntimeService.open({
    addon: losingDevices(loadAddon(), process.env.MIZUOTO_TEST_LOSE_DEVICE),
    settings,
    cacheFolder,
    passOver,
    warn: (message, said) => log('warning', message, said),
  });
  return new EngineBackend(runtime, engines, {
    startProcess: () => startProcess('device-process'),
    voicePrompts: new PromptStore({ folder: promptFolder(cacheFolder) }),
  });
};

// These reach the whole group of processes: whoever started this one ends it when its work is given back. Electron ends
// its own by SIGTERM.
const groupSignals = ['SIGINT', 'SIGHUP', ...('parentPort' in process ? [] : ['SIGTERM'])];
for (const signal of groupSignals) process.on(signal, () => {});
serveEngine(
  parentOf(() => process.exit(0)),
  make,
  () => process.exit(0),
);

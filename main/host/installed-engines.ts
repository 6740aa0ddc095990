import type { DeviceInfo } from '../../native/addon.ts';
import type { EngineInfo, Settings } from '../contract/index.ts';
import { engineInfo } from '../engines/describe.ts';
import type { EngineDefinition } from '../engines/engine.ts';
import type { InstalledModel } from '../models/types.ts';
import { chooseDevice } from '../runtime/device-service.ts';
import type { DeviceQueue } from './backend.ts';

/** What can be said of engines without computing anything: wherever they compute. */
export class InstalledEngines {
  #installed: readonly InstalledModel[] = [];

  constructor(readonly definitions: readonly EngineDefinition[]) {}

  setModels(models: readonly InstalledModel[]): void {
    this.#installed = models;
  }

  /** Engines with the models that can speak now. */
  engines(): EngineInfo[] {
    const infos = this.definitions.map((definition) => engineInfo(definition, this.modelsOf(definition)));
    return infos.filter(({ models }) => models.length > 0);
  }

  modelsOf(definition: EngineDefinition): InstalledModel[] {
    return [...definition.builtIn(), ...this.#installed.filter(({ engine }) => engine === definition.id)];
  }

  queueFor(
    _engine: string,
    settings: Settings,
    devices: readonly DeviceInfo[],
    passOver?: ReadonlySet<string>,
  ): DeviceQueue {
    const { name, simulateBytes } = chooseDevice(settings, devices, passOver);
    // The processor is one device with all its cores: two requests at once would only take turns.
    if (simulateBytes === null && name === 'CPU') return { id: name, slots: 1 };
    return { id: simulateBytes === null ? name : 'Simulated0', slots: settings['compute.gpu_jobs'] };
  }
}

import { useMemo } from 'react';
import type { DeviceSnapshot, ModelSnapshot } from '../../../../main/contract/runtime.ts';
import type { Said } from '../../../../main/contract/said.ts';
import { deviceName } from '../../shell/device-name.ts';
import { useStudioState } from '../../ui/studio-context.ts';

type Telling = Pick<Said, 'code' | 'params' | 'error'>;

/** What people call devices and components whose ids the host speaks of. */
export interface Names {
  device(id: string): string;
  /** With its model's name; without it where `within` is that model, of which everybody knows what is spoken. */
  component(id: string, within?: string): string;
  /** A sentence with names in the place of ids. */
  said(said: Telling, within?: string): Telling;
}

export function namesOf(devices: readonly DeviceSnapshot[], models: readonly ModelSnapshot[]): Names {
  const device = (id: string): string => {
    const found = devices.find((one) => one.id === id);
    return found === undefined ? id : deviceName(found);
  };
  const component = (id: string, within?: string): string => {
    const model = models.find((one) => id === one.id || id.startsWith(`${one.id}:`));
    // What is no longer loaded goes by its id.
    if (model === undefined) return id;
    const part = id.slice(model.id.length + 1);
    if (part === '') return model.name;
    return model.id === within ? part : `${model.name} · ${part}`;
  };
  return {
    device,
    component,
    said: ({ params, ...said }, within) => {
      const named = { ...params };
      if (typeof named.device === 'string') named.device = device(named.device);
      if (typeof named.other === 'string') named.other = device(named.other);
      if (typeof named.component === 'string') named.component = component(named.component, within);
      return { ...said, params: named };
    },
  };
}

const none: never[] = [];

export function useNames(): Names {
  const devices = useStudioState((state) => state.runtime?.devices) ?? none;
  const models = useStudioState((state) => state.runtime?.models) ?? none;
  return useMemo(() => namesOf(devices, models), [devices, models]);
}

import { createStore, type StoreApi } from 'zustand/vanilla';
import { AudioLibrary } from '../audio/library.ts';
import { type OpenOutput, Transport } from '../audio/transport.ts';
import type { StudioBridge } from '../bridge/types.ts';
import { connectionSlice } from './connection.ts';
import { draftSlice } from './draft.ts';
import { enginesSlice } from './engines.ts';
import { jobsSlice } from './jobs.ts';
import type { Keeper } from './keep.ts';
import { memorySlice } from './memory.ts';
import { playerSlice } from './player.ts';
import { runtimeSlice } from './runtime.ts';
import { settingsSlice } from './settings.ts';
import type { StudioState } from './state.ts';
import { uiSlice } from './ui.ts';

export interface StudioParts {
  bridge: StudioBridge;
  keeper: Keeper;
  openOutput: OpenOutput;
  now(): number;
  setTimeout(callback: () => void, milliseconds: number): number;
  clearTimeout(id: number): void;
  setInterval(callback: () => void, milliseconds: number): number;
  clearInterval(id: number): void;
}

/** Everything behind the window: the state that components select from, and what is too heavy for it. */
export interface Studio {
  readonly store: StoreApi<StudioState>;
  readonly bridge: StudioBridge;
  readonly library: AudioLibrary;
  readonly transport: Transport;
  readonly parts: StudioParts;
}

export function createStudio(parts: StudioParts): Studio {
  const store = createStore<StudioState>()(() => ({
    ...connectionSlice(parts.bridge.shell, parts.now()),
    ...settingsSlice(),
    ...enginesSlice(),
    ...runtimeSlice(),
    ...memorySlice(),
    ...jobsSlice(parts.keeper.hidden()),
    ...draftSlice(parts.keeper.draft()),
    ...playerSlice(parts.keeper.volume()),
    ...uiSlice(),
  }));
  const transport = new Transport(
    parts.openOutput,
    (status) => store.setState((state) => ({ player: { ...state.player, status } })),
    parts,
  );
  const { volume, muted } = store.getState().player;
  transport.setVolume(muted ? 0 : volume);
  return { store, bridge: parts.bridge, library: new AudioLibrary(), transport, parts };
}

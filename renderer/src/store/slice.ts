import type { StateCreator } from 'zustand/vanilla';
import type { ConnectionSlice } from './connection.ts';
import type { DraftSlice } from './draft.ts';
import type { EnginesSlice } from './engines.ts';
import type { JobsSlice } from './jobs.ts';
import type { PlayerSlice } from './player.ts';
import type { RuntimeSlice } from './runtime.ts';
import type { SettingsSlice } from './settings.ts';
import type { UiSlice } from './ui.ts';

export type StudioState = ConnectionSlice &
  SettingsSlice &
  EnginesSlice &
  RuntimeSlice &
  JobsSlice &
  DraftSlice &
  PlayerSlice &
  UiSlice;

/** A slice sees the whole state and writes its own part. */
export type Slice<T> = StateCreator<StudioState, [], [], T>;

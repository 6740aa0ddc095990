import type { ConnectionSlice } from './connection.ts';
import type { DraftSlice } from './draft.ts';
import type { EnginesSlice } from './engines.ts';
import type { JobsSlice } from './jobs.ts';
import type { MemorySlice } from './memory.ts';
import type { PlayerSlice } from './player.ts';
import type { RuntimeSlice } from './runtime.ts';
import type { SettingsSlice } from './settings.ts';
import type { UiSlice } from './ui.ts';

/** The whole store: one slice a domain. A slice’s own functions name only the slices that they read. */
export type StudioState = ConnectionSlice &
  SettingsSlice &
  EnginesSlice &
  RuntimeSlice &
  MemorySlice &
  JobsSlice &
  DraftSlice &
  PlayerSlice &
  UiSlice;

import type { ShellBridge } from '../../../main/contract/calls.ts';
import type { ErrorBody } from '../../../main/contract/errors.ts';

export type LinkState = { up: true } | { up: false; error: ErrorBody };

/** The shell's bridge, and, where the link can drop, word of it. The shell's own IPC never drops. */
export interface StudioBridge extends ShellBridge {
  onLink?(listener: (state: LinkState) => void): () => void;
  /** Skip the wait before the next attempt. */
  reconnect?(): void;
}

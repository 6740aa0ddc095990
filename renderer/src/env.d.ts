import type { ShellBridge } from '../../main/contract/calls.ts';

declare global {
  /** True in development and in `--mode fake` builds. */
  const __FAKE_HOST__: boolean;

  interface Window {
    /** Given by the shell's preload; absent in a browser. */
    readonly mizuoto?: ShellBridge;
  }
}

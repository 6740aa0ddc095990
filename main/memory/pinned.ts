import type { Device } from '../../native/addon.ts';
import type { Module } from '../nn/module.ts';

/** Modules that stay on the processor, with all below them; one that is dropped takes its entry along. */
const pinned = new WeakMap<Module, Device>();

/** Say it before the module's component is loaded: where weights lie is decided then, once. */
export function pin(module: Module, processor: Device): void {
  if (!processor.isHost) throw new Error(`${processor.name} is not the processor.`);
  pinned.set(module, processor);
}

/** The processor, where this very module was pinned to it. */
export function pinnedTo(module: Module): Device | null {
  return pinned.get(module) ?? null;
}

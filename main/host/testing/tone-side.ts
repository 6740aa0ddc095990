import type { DeviceInfo } from '../../../native/addon.ts';
import type { EngineSide } from '../engine-process/protocol.ts';
import { ToneBackend } from './tone-engine.ts';

/** The tone engine in a process of its own: it has no devices. */
export class ToneSide extends ToneBackend implements EngineSide {
  devices(): DeviceInfo[] {
    return [];
  }

  passOver(): void {}
}

import type { SelfTest } from '../../contract/doctor.ts';
import type { ErrorBody } from '../../contract/errors.ts';
import type { Settings, VerifyRun } from '../../contract/index.ts';
import type { InstalledModel } from '../../models/types.ts';
import type { OwnProcess } from './own-process.ts';

/** What a process of its own does with a graphics driver, so that a crash of the driver ends that process alone. */
export type DeviceTask =
  /** Loads every driver and lists the devices. */
  | { kind: 'list' }
  | { kind: 'self-test'; device: string }
  | {
      kind: 'verify';
      engine: string;
      model: InstalledModel;
      device: string;
      settings: Settings;
      asked: string[];
      text: string | undefined;
      /** What the processor spoke, and what it took, bytes. */
      plain: { samples: Float32Array; sizeBytes: number; workingBytes: number };
    };

/** What the driver was doing; each language has words for each. */
export const deviceSteps = [
  'starting',
  'loading',
  'opening',
  'placing',
  'computing',
  'streaming',
  'speaking',
  'closing',
] as const;
export type DeviceStep = (typeof deviceSteps)[number];

export type FromDeviceProcess =
  | { type: 'step'; step: DeviceStep }
  | { type: 'run'; run: VerifyRun }
  | { type: 'done'; test: SelfTest | null }
  | { type: 'failed'; error: ErrorBody };

/** Takes a `DeviceTask`, and sends `FromDeviceProcess`. */
export type StartDeviceProcess = () => OwnProcess;

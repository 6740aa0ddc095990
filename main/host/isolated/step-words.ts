import type { DeviceStep } from './device-task.ts';

/** What goes after "while", in English. */
export const stepWords: Record<DeviceStep, string> = {
  starting: 'its process started',
  loading: 'it was loaded',
  opening: 'the device was opened',
  placing: 'weights were uploaded',
  computing: 'it computed',
  streaming: 'weights were streamed',
  speaking: 'a text was spoken',
  closing: 'the device was closed',
};

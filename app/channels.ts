import { z } from 'zod';

/** Channels between preload and main. The preload exposes named functions only; these names stay in the shell. */
export const channels = {
  call: 'mizuoto:call',
  event: 'mizuoto:event',
  saveAudio: 'mizuoto:save-audio',
  saveTrace: 'mizuoto:save-trace',
  openExternal: 'mizuoto:open-external',
} as const;

/** Facts for the preload, handed over as an argument of the page's process. */
export const shellArgument = '--mizuoto-shell=';

/** What comes back from `call`: errors travel as data, because Electron turns thrown ones into bare text. */
export type CallReply = { ok: true; value: unknown } | { ok: false; error: unknown };

export const saveAudioSchema = z.strictObject({
  job_id: z.string().min(1).max(200),
  suggested_name: z.string().min(1).max(200),
});

export const saveTraceSchema = saveAudioSchema.pick({ suggested_name: true });

export const openExternalSchema = z.string().min(1).max(2000);
export const callSchema = z.tuple([z.string().min(1).max(100), z.unknown()]);

import { type IpcMainEvent, type IpcMainInvokeEvent, ipcMain } from 'electron';
import type { z } from 'zod';
import { StudioError } from '../main/contract/index.ts';
import type { CallReply } from './channels.ts';
import { isOwnUrl } from './origin.ts';

/** Windows that may speak to main: the shell registers each when it makes it. */
const knownContents = new Set<number>();

export function trustContents(id: number): () => void {
  knownContents.add(id);
  return () => knownContents.delete(id);
}

/** A message counts only from the main frame of a known window that shows our own page. */
export function isTrustedSender(
  event: Pick<IpcMainInvokeEvent | IpcMainEvent, 'sender' | 'senderFrame'>,
): boolean {
  const frame = event.senderFrame;
  return (
    knownContents.has(event.sender.id) &&
    frame !== null &&
    frame === event.sender.mainFrame &&
    frame.parent === null &&
    isOwnUrl(frame.url)
  );
}

/**
 * The only way to answer the page: checks the sender, parses the arguments, and turns every failure into data.
 * Internal failures keep their detail in the log, never in the answer.
 */
export function handle<S extends z.ZodType>(
  channel: string,
  schema: S,
  body: (request: z.output<S>, event: IpcMainInvokeEvent) => Promise<unknown>,
  log: (message: string) => void,
): void {
  ipcMain.handle(channel, async (event, ...args: unknown[]): Promise<CallReply> => {
    try {
      if (!isTrustedSender(event)) {
        log(`refused ${channel} from ${event.senderFrame?.url ?? 'a frame that is gone'}`);
        throw new StudioError('forbidden', 'This page may not speak to the studio.');
      }
      const parsed = schema.safeParse(args.length === 1 ? args[0] : args);
      if (!parsed.success) {
        throw new StudioError(
          'invalid_request',
          `The request is malformed: ${parsed.error.issues[0]?.message}.`,
        );
      }
      return { ok: true, value: await body(parsed.data, event) };
    } catch (error) {
      if (error instanceof StudioError) return { ok: false, error: error.toBody() };
      log(`internal failure in ${channel}: ${error instanceof Error ? error.stack : String(error)}`);
      const internal = new StudioError(
        'internal',
        'Something went wrong inside the studio. The log has the detail.',
      );
      return { ok: false, error: internal.toBody() };
    }
  });
}

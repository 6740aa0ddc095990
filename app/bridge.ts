import { basename, extname, join } from 'node:path';
import { app, BrowserWindow, dialog, type IpcMainInvokeEvent, shell } from 'electron';
import {
  type CallInput,
  type CallName,
  callNames,
  type EventName,
  eventNames,
  type StudioClient,
  StudioError,
} from '../main/contract/index.ts';
import { callSchema, channels, openExternalSchema, saveAudioSchema, saveTraceSchema } from './channels.ts';
import { handle } from './ipc.ts';
import type { Messages } from './messages.ts';
import { isAllowedExternal } from './origin.ts';

/** Calls that name paths: the shell makes them itself, after its own dialog; the page may not. */
const shellOnly = new Set<CallName>(['jobs.export', 'runtime.export_trace']);

/** A file name without folders, reserved characters or device names of any system. */
export function safeFileName(suggested: string, extension: 'wav' | 'json' = 'wav'): string {
  const name = basename(suggested.replaceAll('\\', '/'))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these may not stand in a file name.
    .replace(/[\u0000-\u001f<>:"/\\|?*]/g, '')
    .replace(/^\.+|[. ]+$/g, '')
    .slice(0, 120);
  const stem = name.slice(0, name.length - extname(name).length);
  if (stem === '' || /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(stem)) return `mizuoto.${extension}`;
  return extname(name).toLowerCase() === `.${extension}` ? name : `${name}.${extension}`;
}

/** Connects the page to the engine host: calls in, events out, and what only a shell can do. */
export function connectBridge(
  client: StudioClient,
  words: () => Messages,
  log: (message: string) => void,
): () => void {
  handle(
    channels.call,
    callSchema,
    async ([name, request]) => {
      if (!callNames.includes(name as CallName) || shellOnly.has(name as CallName)) {
        throw new StudioError('invalid_request', `There is no call named "${name.slice(0, 60)}".`);
      }
      // The host's client parses the request by the call's own schema.
      return client.call(name as CallName, request as CallInput<CallName>);
    },
    log,
  );

  /** Null when the person closed the dialog. */
  const askWhere = async (
    event: IpcMainInvokeEvent,
    options: {
      title: string;
      folder: 'music' | 'documents';
      name: string;
      kind: string;
      extension: 'wav' | 'json';
    },
  ): Promise<string | null> => {
    const window = BrowserWindow.fromWebContents(event.sender);
    if (!window) throw new StudioError('forbidden', 'The window is gone.');
    const { title, folder, name, kind, extension } = options;
    const answer = await dialog.showSaveDialog(window, {
      title,
      defaultPath: join(app.getPath(folder), safeFileName(name, extension)),
      filters: [{ name: kind, extensions: [extension] }],
      properties: ['showOverwriteConfirmation', 'createDirectory'],
    });
    return answer.canceled || !answer.filePath ? null : answer.filePath;
  };

  handle(
    channels.saveTrace,
    saveTraceSchema,
    async ({ suggested_name: name }, event) => {
      const { saveTraceTitle: title, jsonFiles: kind } = words();
      const path = await askWhere(event, { title, folder: 'documents', name, kind, extension: 'json' });
      return path === null ? null : { path: (await client.call('runtime.export_trace', { path })).path };
    },
    log,
  );

  handle(
    channels.saveAudio,
    saveAudioSchema,
    async ({ job_id, suggested_name }, event) => {
      const { saveTitle: title, waveFiles: kind } = words();
      const path = await askWhere(event, {
        title,
        folder: 'music',
        name: suggested_name,
        kind,
        extension: 'wav',
      });
      return path === null ? null : { path: (await client.call('jobs.export', { job_id, path })).path };
    },
    log,
  );

  handle(
    channels.openExternal,
    openExternalSchema,
    async (url) => {
      if (!isAllowedExternal(url))
        throw new StudioError('forbidden', 'This link is not on the list of known sites.');
      await shell.openExternal(url);
    },
    log,
  );

  const stops = eventNames.map((name: EventName) =>
    client.on(name, (data) => {
      for (const window of BrowserWindow.getAllWindows()) {
        if (!window.isDestroyed()) window.webContents.send(channels.event, name, data);
      }
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

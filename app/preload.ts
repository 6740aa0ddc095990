import { contextBridge, type IpcRendererEvent, ipcRenderer } from 'electron';
import type {
  CallInput,
  CallName,
  CallResponse,
  EventData,
  EventName,
  ShellBridge,
} from '../main/contract/index.ts';
import { type CallReply, channels, shellArgument } from './channels.ts';

/**
 * The page's whole view of the shell: named functions, data only. No ipcRenderer, no event objects. Errors cross the
 * context bridge as plain `{ code, message, ... }` objects; the page makes its own error of them.
 */
async function unwrap<T>(reply: Promise<CallReply>): Promise<T> {
  const settled = await reply;
  if (settled.ok) return settled.value as T;
  throw settled.error;
}

type Listener = (data: unknown) => void;
const listeners = new Map<string, Set<Listener>>();

ipcRenderer.on(channels.event, (_event: IpcRendererEvent, name: string, data: unknown) => {
  for (const listener of listeners.get(name) ?? []) listener(data);
});

const argument = process.argv.find((text) => text.startsWith(shellArgument));
const info = JSON.parse(argument?.slice(shellArgument.length) ?? '{}') as ShellBridge['shell'];

const bridge: ShellBridge = {
  shell: info,
  call<N extends CallName>(name: N, request: CallInput<N>): Promise<CallResponse<N>> {
    return unwrap(ipcRenderer.invoke(channels.call, name, request));
  },
  on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void {
    const own = listener as Listener;
    const set = listeners.get(name) ?? new Set();
    listeners.set(name, set.add(own));
    return () => {
      set.delete(own);
    };
  },
  saveAudio(request) {
    return unwrap(ipcRenderer.invoke(channels.saveAudio, request));
  },
  saveTrace(request) {
    return unwrap(ipcRenderer.invoke(channels.saveTrace, request));
  },
  openExternal(url) {
    return unwrap(ipcRenderer.invoke(channels.openExternal, url));
  },
};

contextBridge.exposeInMainWorld('mizuoto', bridge);

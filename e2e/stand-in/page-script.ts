import { decode, encode } from './codec.ts';

/** Names that the stand-in uses in the page. */
export const pageNames = { binding: '__standInIpc', deliver: '__standInDeliver' } as const;

/**
 * The script that runs before the page's own: `require('electron')` for the preload, then the preload itself. The
 * preload file is the very one that Electron would load.
 */
export function pageScript(preload: string, argv: string[]): string {
  return `(() => {
    const encode = ${encode.toString()};
    const decode = ${decode.toString()};
    const listeners = new Map();
    const ipcRenderer = {
      invoke: async (channel, ...args) => decode(await window.${pageNames.binding}(channel, encode(args))),
      on: (channel, listener) => {
        listeners.set(channel, [...(listeners.get(channel) ?? []), listener]);
        return ipcRenderer;
      },
    };
    window.${pageNames.deliver} = (channel, text) => {
      for (const listener of listeners.get(channel) ?? []) listener({}, ...decode(text));
    };
    const contextBridge = {
      exposeInMainWorld: (name, api) => Object.defineProperty(window, name, { value: Object.freeze(api) }),
    };
    const electron = { contextBridge, ipcRenderer, webUtils: {} };
    const require = (name) => {
      if (name === 'electron') return electron;
      throw new Error('A sandboxed preload may not require ' + name);
    };
    const process = { argv: ${JSON.stringify(argv)}, platform: ${JSON.stringify(process.platform)} };
    const module = { exports: {} };
    (function (require, process, module, exports) {
      ${preload}
    })(require, process, module, module.exports);
  })();`;
}

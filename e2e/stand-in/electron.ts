/**
 * Stands in for the `electron` module where its binary cannot be had: the main process runs in Node, each window is
 * a page of Chromium. It offers what app/ uses, with Electron's semantics where a test can see them (one frame
 * object per frame, preventable navigation, permission handlers, ordered messages). It is test equipment: nothing of
 * it ships, and a run on it is never called a run on Electron.
 */
import { EventEmitter } from 'node:events';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { protocol, session } from './session.ts';
import { utilityProcess } from './utility-process.ts';
import { appEvents, BrowserWindow, ipcHandlers, WebContents } from './windows.ts';

const folder = (name: string) => {
  const home = process.env.MIZUOTO_HOME ?? join(tmpdir(), 'mizuoto-stand-in');
  return name === 'userData' ? home : name === 'music' ? home : name === 'home' ? homedir() : tmpdir();
};

class App extends EventEmitter {
  readonly isPackaged = false;
  readonly name = 'Mizuoto Studio';
  private quitting = false;

  enableSandbox(): void {}
  setAppUserModelId(): void {}
  setAboutPanelOptions(): void {}
  setName(): void {}
  requestSingleInstanceLock(): boolean {
    return true;
  }
  whenReady(): Promise<void> {
    return Promise.resolve();
  }
  getPath(name: string): string {
    return folder(name);
  }
  getAppPath(): string {
    return process.cwd();
  }
  getLocale(): string {
    return process.env.MIZUOTO_STAND_IN_LOCALE ?? 'en-US';
  }
  getVersion(): string {
    return process.env.npm_package_version ?? '0.0.0';
  }

  quit(): void {
    if (this.quitting) return;
    let prevented = false;
    this.emit('before-quit', { preventDefault: () => (prevented = true) });
    if (prevented) return;
    this.quitting = true;
    for (const window of BrowserWindow.getAllWindows()) window.destroy();
    let held = false;
    this.emit('will-quit', { preventDefault: () => (held = true) });
    if (!held) this.exit(0);
    else this.quitting = false;
  }

  exit(code = 0): void {
    setTimeout(() => process.exit(code), 50);
  }
}

export const app = new App();
for (const name of ['web-contents-created', 'window-all-closed']) {
  appEvents.on(name, (...args: unknown[]) => app.emit(name, ...args));
}

export const ipcMain = {
  handle: (channel: string, handler: Parameters<typeof ipcHandlers.set>[1]) => {
    ipcHandlers.set(channel, handler);
  },
  removeHandler: (channel: string) => {
    ipcHandlers.delete(channel);
  },
};

export const dialog = {
  showSaveDialog: async (): Promise<{ canceled: boolean; filePath?: string }> => ({ canceled: true }),
  showMessageBox: async (): Promise<{ response: number }> => ({ response: 0 }),
  showErrorBox: (title: string, text: string) => process.stderr.write(`${title}: ${text}\n`),
};

export const Menu = {
  buildFromTemplate: (template: unknown) => template,
  setApplicationMenu: (_menu: unknown) => undefined,
};

export const shell = { openExternal: async (_url: string) => undefined };
export const screen = { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] };

class NativeTheme extends EventEmitter {
  shouldUseDarkColors = process.env.MIZUOTO_STAND_IN_THEME === 'dark';
  themeSource = 'system';
}
export const nativeTheme = new NativeTheme();

export { BrowserWindow, protocol, session, utilityProcess, WebContents };

/** The test's way in: the same `evaluate(({ app, ... }, argument) => ...)` that Playwright has for Electron. */
const electron = {
  app,
  BrowserWindow,
  dialog,
  ipcMain,
  Menu,
  nativeTheme,
  protocol,
  screen,
  session,
  shell,
  utilityProcess,
};
process.on('message', (message: { id: number; source: string; argument: unknown }) => {
  const run = new Function('electron', 'argument', `return (${message.source})(electron, argument);`);
  Promise.resolve()
    .then(() => run(electron, message.argument))
    .then(
      (value) => process.send?.({ id: message.id, value }),
      (error: unknown) => process.send?.({ id: message.id, error: String(error) }),
    );
});
appEvents.on('stand-in-window', (endpoint: string) => process.send?.({ endpoint }));
process.on('disconnect', () => app.exit(0));

export default electron;

import { BrowserWindow, nativeTheme, screen } from 'electron';
import { shellArgument } from './channels.ts';
import { trustContents } from './ipc.ts';
import { appUrl } from './origin.ts';
import { webPreferences } from './security.ts';
import { readWindowState, writeWindowState } from './window-state.ts';

/** Window backgrounds before the first paint; the same as `--background` in renderer/src/styles. */
const background = { dark: '#0e1419', light: '#f6f8f8' };

export interface WindowOptions {
  preload: string;
  stateFolder: string;
  shell: { kind: 'electron'; platform: string; locale: string; version: string };
}

/** The studio's window: remembers where it stood, shows itself only when painted. */
export function createWindow(options: WindowOptions): BrowserWindow {
  const state = readWindowState(
    options.stateFolder,
    screen.getAllDisplays().map((display) => display.workArea),
  );
  const window = new BrowserWindow({
    width: state.width,
    height: state.height,
    x: state.x,
    y: state.y,
    minWidth: 720,
    minHeight: 480,
    show: false,
    title: 'Mizuoto Studio',
    backgroundColor: nativeTheme.shouldUseDarkColors ? background.dark : background.light,
    webPreferences: webPreferences(options.preload, [`${shellArgument}${JSON.stringify(options.shell)}`]),
  });
  if (state.maximized) window.maximize();

  const forget = trustContents(window.webContents.id);
  window.once('ready-to-show', () => window.show());
  window.on('close', () => {
    const bounds = window.getNormalBounds();
    writeWindowState(options.stateFolder, { ...bounds, maximized: window.isMaximized() });
  });
  window.on('closed', forget);
  void window.loadURL(appUrl);
  return window;
}

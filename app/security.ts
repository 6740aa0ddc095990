import { app, type Session, type WebContents, type WebPreferences } from 'electron';
import { isOwnUrl } from './origin.ts';

/** Web preferences of every window: written once, so that no window can forget one. */
export function webPreferences(preload: string, additionalArguments: string[]): WebPreferences {
  return {
    preload,
    additionalArguments,
    contextIsolation: true,
    nodeIntegration: false,
    nodeIntegrationInWorker: false,
    nodeIntegrationInSubFrames: false,
    sandbox: true,
    webviewTag: false,
    spellcheck: false,
    navigateOnDragDrop: false,
    // Speech goes on while the window is covered.
    backgroundThrottling: false,
  };
}

/** Permissions that the page may use. Empty until recording exists: Electron's own default is to grant all. */
const allowedPermissions = new Set<string>();

export function denyPermissions(session: Session): void {
  session.setPermissionRequestHandler((_contents, permission, answer) =>
    answer(allowedPermissions.has(permission)),
  );
  session.setPermissionCheckHandler((_contents, permission) => allowedPermissions.has(permission));
  session.setDevicePermissionHandler(() => false);
}

/** No navigation away from our own page, no webviews, no new windows: for every contents that ever exists. */
export function guardContents(contents: WebContents, onRefused: (what: string) => void): void {
  const refuseForeign = (event: { preventDefault(): void }, url: string) => {
    if (isOwnUrl(url)) return;
    event.preventDefault();
    onRefused(`navigation to ${url}`);
  };
  contents.on('will-navigate', (event) => refuseForeign(event, event.url));
  contents.on('will-redirect', (event) => refuseForeign(event, event.url));
  contents.on('will-frame-navigate', (event) => refuseForeign(event, event.url));
  contents.on('will-attach-webview', (event) => {
    event.preventDefault();
    onRefused('a webview');
  });
  contents.setWindowOpenHandler(({ url }) => {
    onRefused(`a window for ${url}`);
    return { action: 'deny' };
  });
}

export function guardAllContents(onRefused: (what: string) => void): void {
  app.on('web-contents-created', (_event, contents) => guardContents(contents, onRefused));
}

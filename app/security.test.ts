import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IpcMainInvokeEvent, Session, WebContents } from 'electron';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { StudioError } from '../main/contract/index.ts';

type Handler = (event: IpcMainInvokeEvent, ...args: unknown[]) => Promise<unknown>;
const handlers = vi.hoisted(() => new Map<string, unknown>());
vi.mock('electron', () => ({
  app: { on: () => undefined },
  ipcMain: { handle: (channel: string, handler: unknown) => handlers.set(channel, handler) },
  BrowserWindow: class {},
  dialog: {},
  shell: {},
}));

const { denyPermissions, guardContents, webPreferences } = await import('./security.ts');
const { handle, isTrustedSender, trustContents } = await import('./ipc.ts');
const { safeFileName } = await import('./bridge.ts');

/** A message event as Electron builds it. */
function message(url: string, options: { id?: number; iframe?: boolean } = {}): IpcMainInvokeEvent {
  const mainFrame = { url: 'mizuoto://app/index.html', parent: null };
  const senderFrame = options.iframe ? { url, parent: mainFrame } : Object.assign(mainFrame, { url });
  return { sender: { id: options.id ?? 7, mainFrame }, senderFrame } as unknown as IpcMainInvokeEvent;
}

describe('web preferences', () => {
  it('isolate, sandbox and keep Node out', () => {
    expect(webPreferences('/p.cjs', [])).toMatchObject({
      contextIsolation: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      sandbox: true,
      webviewTag: false,
    });
  });

  it('are never weakened anywhere in the shell', () => {
    const folder = dirname(fileURLToPath(import.meta.url));
    const forbidden =
      /webSecurity:\s*false|allowRunningInsecureContent|experimentalFeatures|enableBlinkFeatures|sandbox:\s*false|nodeIntegration\w*:\s*true|contextIsolation:\s*false|enableRemoteModule|--no-sandbox/;
    for (const file of readdirSync(folder).filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
    )) {
      expect(readFileSync(join(folder, file), 'utf8'), file).not.toMatch(forbidden);
    }
  });
});

describe('senders', () => {
  beforeEach(() => {
    trustContents(7);
  });

  it('counts the main frame of a known window on our page only', () => {
    expect(isTrustedSender(message('mizuoto://app/index.html'))).toBe(true);
    expect(isTrustedSender(message('mizuoto://app/index.html', { id: 8 }))).toBe(false);
    expect(isTrustedSender(message('mizuoto://app/index.html', { iframe: true }))).toBe(false);
    expect(isTrustedSender(message('https://evil.example/'))).toBe(false);
    expect(isTrustedSender({ ...message('mizuoto://app/'), senderFrame: null })).toBe(false);
  });

  it('forgets a window that was closed', () => {
    trustContents(7)();
    expect(isTrustedSender(message('mizuoto://app/index.html'))).toBe(false);
  });

  it('answers forged, malformed and failing calls with data, never with internals', async () => {
    const log = vi.fn();
    const body = vi.fn(async (n: number) => {
      if (n === 1) throw new StudioError('text_empty', 'Nothing to say.');
      if (n === 2) throw new Error('secret path /home/someone');
      return n;
    });
    handle('test', z.number(), body, log);
    const call = handlers.get('test') as Handler;
    expect(await call(message('https://evil.example/'), 5)).toMatchObject({
      ok: false,
      error: { code: 'forbidden' },
    });
    expect(body).not.toHaveBeenCalled();
    const own = message('mizuoto://app/index.html');
    expect(await call(own, 'x')).toMatchObject({ ok: false, error: { code: 'invalid_request' } });
    expect(await call(own, 5)).toEqual({ ok: true, value: 5 });
    expect(await call(own, 1)).toMatchObject({ ok: false, error: { code: 'text_empty' } });
    const internal = JSON.stringify(await call(own, 2));
    expect(internal).toContain('internal');
    expect(internal).not.toContain('secret');
    expect(log.mock.calls.flat().join('\n')).toContain('secret path');
  });
});

describe('permissions', () => {
  it.each([
    'media',
    'geolocation',
    'notifications',
    'midi',
    'midiSysex',
    'pointerLock',
    'fullscreen',
    'openExternal',
    'clipboard-read',
    'display-capture',
    'hid',
    'serial',
    'usb',
    'idle-detection',
    'storage-access',
    'window-management',
    'fileSystem',
    'unknown',
  ])('denies %s', (permission) => {
    let request: ((c: unknown, p: string, answer: (granted: boolean) => void) => void) | undefined;
    let checker: ((c: unknown, p: string) => boolean) | undefined;
    denyPermissions({
      setPermissionRequestHandler: (h: typeof request) => (request = h),
      setPermissionCheckHandler: (h: typeof checker) => (checker = h),
      setDevicePermissionHandler: (h: () => boolean) => expect(h()).toBe(false),
    } as unknown as Session);
    const answer = vi.fn();
    request?.({}, permission, answer);
    expect(answer).toHaveBeenCalledWith(false);
    expect(checker?.({}, permission)).toBe(false);
  });
});

describe('contents', () => {
  const guarded = () => {
    const listeners = new Map<string, (event: { url: string; preventDefault(): void }) => void>();
    let open: (details: { url: string }) => { action: string } = () => ({ action: 'allow' });
    const contents = {
      on: (name: string, listener: never) => listeners.set(name, listener),
      setWindowOpenHandler: (handler: typeof open) => {
        open = handler;
      },
    };
    const refused: string[] = [];
    guardContents(contents as unknown as WebContents, (what) => refused.push(what));
    return { listeners, open: (url: string) => open({ url }), refused };
  };

  it.each(['will-navigate', 'will-redirect', 'will-frame-navigate'])('%s leaves our page nowhere', (name) => {
    const { listeners, refused } = guarded();
    for (const [url, prevented] of [
      ['https://evil.example/', true],
      ['file:///x.html', true],
      ['mizuoto://app/', false],
    ] as const) {
      const preventDefault = vi.fn();
      listeners.get(name)?.({ url, preventDefault });
      expect(preventDefault.mock.calls.length > 0, url).toBe(prevented);
    }
    expect(refused).toHaveLength(2);
  });

  it('opens no window and attaches no webview', () => {
    const { listeners, open } = guarded();
    expect(open('https://github.com/')).toEqual({ action: 'deny' });
    const preventDefault = vi.fn();
    listeners.get('will-attach-webview')?.({ url: '', preventDefault });
    expect(preventDefault).toHaveBeenCalled();
  });
});

describe('suggested file names', () => {
  it.each([
    ['hello.wav', 'hello.wav'],
    ['你好，世界', '你好，世界.wav'],
    ['../../etc/passwd', 'passwd.wav'],
    ['C:\\Windows\\system32\\x.wav', 'x.wav'],
    ['a<b>:c|d?.wav', 'abcd.wav'],
    ['CON.wav', 'mizuoto.wav'],
    ['..', 'mizuoto.wav'],
    ['', 'mizuoto.wav'],
    ['trailing. . ', 'trailing.wav'],
  ])('%j -> %j', (given, expected) => expect(safeFileName(given)).toBe(expected));
});

import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type BrowserContext,
  chromium,
  type Frame,
  type Page,
  type Request as PageRequest,
  type Route,
} from 'playwright-core';
import { decode, encode } from './codec.ts';
import { pageNames, pageScript } from './page-script.ts';
import { session } from './session.ts';

/** Chromium knows no scheme of ours: the page lives at this address, and everything above sees `mizuoto://app`. */
const realOrigin = 'https://mizuoto-app.invalid';
const ownOrigin = 'mizuoto://app';
const toReal = (url: string) =>
  url.startsWith(`${ownOrigin}/`) ? realOrigin + url.slice(ownOrigin.length) : url;
const toOwn = (url: string) =>
  url.startsWith(`${realOrigin}/`) ? ownOrigin + url.slice(realOrigin.length) : url;

export interface StandInFrame {
  url: string;
  parent: StandInFrame | null;
}

type Handler = (
  event: { sender: WebContents; senderFrame: StandInFrame | null },
  ...args: unknown[]
) => unknown;
export const ipcHandlers = new Map<string, Handler>();

interface Preferences {
  preload?: string;
  additionalArguments?: string[];
  [key: string]: unknown;
}

interface WindowOptions {
  width?: number;
  height?: number;
  show?: boolean;
  title?: string;
  webPreferences?: Preferences;
  [key: string]: unknown;
}

type OpenHandler = (details: { url: string }) => { action: 'allow' | 'deny' };

let nextId = 1;
const windows: BrowserWindow[] = [];
export const appEvents = new EventEmitter();

export class WebContents extends EventEmitter {
  readonly id = nextId++;
  readonly session = session.defaultSession;
  private openHandler: OpenHandler = () => ({ action: 'allow' });
  private outbox: Promise<unknown> = Promise.resolve();
  private frames = new Map<Frame, StandInFrame>();
  page: Page | null = null;

  constructor(readonly preferences: Preferences) {
    super();
    appEvents.emit('web-contents-created', {}, this);
  }

  get mainFrame(): StandInFrame | null {
    return this.page ? this.frameOf(this.page.mainFrame()) : null;
  }

  /** Electron keeps one object per frame, so that frames can be compared. */
  frameOf(frame: Frame): StandInFrame {
    const parent = frame.parentFrame();
    const known = this.frames.get(frame) ?? { url: '', parent: parent ? this.frameOf(parent) : null };
    known.url = toOwn(frame.url());
    this.frames.set(frame, known);
    return known;
  }

  getLastWebPreferences(): Preferences {
    return this.preferences;
  }

  setWindowOpenHandler(handler: OpenHandler): void {
    this.openHandler = handler;
  }

  opens(url: string): boolean {
    return this.openHandler({ url: toOwn(url) }).action === 'allow';
  }

  /** True when a listener prevented it: what Electron asks before a frame leaves. */
  refusesNavigation(url: string, isMainFrame: boolean): boolean {
    let prevented = false;
    const event = { url: toOwn(url), isMainFrame, preventDefault: () => (prevented = true) };
    if (isMainFrame) this.emit('will-navigate', event);
    this.emit('will-frame-navigate', event);
    return prevented;
  }

  send(channel: string, ...args: unknown[]): void {
    const text = encode(args);
    this.outbox = this.outbox.then(async () => {
      if (!this.page || this.page.isClosed()) return;
      await this.page
        .evaluate(
          ([name, c, t]) =>
            (globalThis as unknown as Record<string, (c: string, t: string) => void>)[name!]?.(c!, t!),
          [pageNames.deliver, channel, text],
        )
        .catch(() => undefined);
    });
  }
}

/** A page that is just being opened has no frame yet: it is none of ours. */
function isFrameOf(request: PageRequest, page: Page | null): boolean {
  try {
    return request.frame() === page?.mainFrame();
  } catch {
    return false;
  }
}

/** Chromium's helpers write a little longer than its window lives. */
function removeLater(folder: string): void {
  process.on('exit', () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    } catch {}
  });
}

export class BrowserWindow extends EventEmitter {
  readonly webContents: WebContents;
  private context: BrowserContext | null = null;
  private profile: string | null = null;
  private destroyed = false;

  static getAllWindows(): BrowserWindow[] {
    return [...windows];
  }

  static fromWebContents(contents: WebContents): BrowserWindow | null {
    return windows.find((window) => window.webContents === contents) ?? null;
  }

  constructor(private readonly options: WindowOptions) {
    super();
    this.webContents = new WebContents(options.webPreferences ?? {});
    windows.push(this);
  }

  async loadURL(url: string): Promise<void> {
    this.profile = mkdtempSync(join(tmpdir(), 'mizuoto-window-'));
    const scale = Number(process.env.MIZUOTO_STAND_IN_SCALE ?? 1);
    this.context = await chromium.launchPersistentContext(this.profile, {
      executablePath: process.env.MIZUOTO_CHROMIUM,
      headless: true,
      viewport: { width: this.options.width ?? 1240, height: this.options.height ?? 820 },
      deviceScaleFactor: scale,
      locale: process.env.MIZUOTO_STAND_IN_LOCALE ?? 'en-US',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--autoplay-policy=no-user-gesture-required',
        '--remote-debugging-port=0',
      ],
    });
    this.context.on('close', () => this.closed());
    const page = this.context.pages()[0] ?? (await this.context.newPage());
    this.webContents.page = page;
    await this.wire(this.context, page);
    await page.goto(toReal(url));
    this.emit('ready-to-show');
    const port = readFileSync(join(this.profile, 'DevToolsActivePort'), 'utf8').split('\n')[0];
    appEvents.emit('stand-in-window', `http://127.0.0.1:${port}`);
  }

  private async wire(context: BrowserContext, page: Page): Promise<void> {
    const preload = this.webContents.preferences.preload;
    const argv = ['chromium', ...(this.webContents.preferences.additionalArguments ?? [])];
    if (preload) await context.addInitScript(pageScript(readFileSync(preload, 'utf8'), argv));
    await context.exposeBinding(pageNames.binding, async ({ frame }, channel: string, text: string) => {
      const handler = ipcHandlers.get(channel);
      if (!handler) throw new Error(`No handler registered for '${channel}'`);
      const event = { sender: this.webContents, senderFrame: this.webContents.frameOf(frame) };
      return encode(await handler(event, ...(decode(text) as unknown[])));
    });
    await context.route('**/*', (route) => this.answer(route));
    context.on('page', (opened) => {
      if (opened === page) return;
      // The address of a new page is known at once or after its first navigation.
      const url =
        opened.url() === 'about:blank'
          ? opened.waitForEvent('framenavigated').then(() => opened.url())
          : opened.url();
      void Promise.race([url, new Promise<string>((done) => setTimeout(() => done(opened.url()), 500))]).then(
        (address) => {
          if (!this.webContents.opens(address)) void opened.close();
        },
      );
    });
  }

  private async answer(route: Route): Promise<void> {
    const request = route.request();
    const isMainFrame = request.isNavigationRequest() && isFrameOf(request, this.webContents.page);
    const first = this.webContents.page?.url() === 'about:blank';
    if (
      request.isNavigationRequest() &&
      !first &&
      this.webContents.refusesNavigation(request.url(), isMainFrame)
    ) {
      // Aborted, not blocked: Chromium then stays where it is, as Electron does, instead of showing an error page.
      return route.abort('aborted');
    }
    const url = toOwn(request.url());
    const handler = session.defaultSession.protocol.handlers.get(new URL(url).protocol.slice(0, -1));
    if (!handler) return route.abort('blockedbyclient');
    const response = await handler(new Request(url, { method: request.method() }));
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    });
  }

  private closed(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    windows.splice(windows.indexOf(this), 1);
    if (this.profile) removeLater(this.profile);
    this.webContents.emit('destroyed');
    this.emit('closed');
    if (windows.length === 0) appEvents.emit('window-all-closed');
  }

  close(): void {
    let prevented = false;
    this.emit('close', { preventDefault: () => (prevented = true) });
    if (!prevented) this.destroy();
  }

  destroy(): void {
    void this.context?.close().then(() => this.closed());
  }

  show(): void {}
  focus(): void {}
  restore(): void {}
  maximize(): void {}
  isMinimized(): boolean {
    return false;
  }
  isMaximized(): boolean {
    return false;
  }
  isDestroyed(): boolean {
    return this.destroyed;
  }
  setProgressBar(): void {}
  getNormalBounds(): { x: number; y: number; width: number; height: number } {
    return { x: 0, y: 0, width: this.options.width ?? 1240, height: this.options.height ?? 820 };
  }
}

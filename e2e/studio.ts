import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { _electron, chromium, type Page } from '@playwright/test';
import type * as Electron from 'electron';
import { electronBinary } from '../build/electron.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, 'dist', 'app', 'main.mjs');

export type ElectronModule = typeof Electron;

export interface LaunchOptions {
  locale?: 'en-US' | 'zh-CN';
  theme?: 'dark' | 'light';
  size?: { width: number; height: number };
  env?: Record<string, string>;
  /** Reuse the settings folder of an earlier launch. */
  home?: string;
}

/** A running studio: its window, its main process, and what its console said. */
export interface Studio {
  /** `electron`: the real binary; `stand-in`: the same bundles with windows in Chromium. */
  kind: 'electron' | 'stand-in';
  page: Page;
  home: string;
  /** Console errors, page errors and refused requests so far. */
  complaints: string[];
  /** Runs in the main process with the `electron` module as first argument. */
  evaluate<R, A>(body: (electron: ElectronModule, argument: A) => R | Promise<R>, argument: A): Promise<R>;
  close(): Promise<void>;
}

/** Chromium for the stand-in: the system's own. */
export function chromiumBinary(): string | null {
  const names = [
    process.env.MIZUOTO_CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  return names.find((path): path is string => path !== undefined && existsSync(path)) ?? null;
}

function listen(page: Page, complaints: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`page error: ${error.message}`));
}

export async function launchStudio(options: LaunchOptions = {}): Promise<Studio> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'mizuoto-e2e-'));
  const env = { ...process.env, MIZUOTO_HOME: home, ...options.env } as Record<string, string>;
  const binary = electronBinary();
  const studio = binary
    ? await launchElectron(binary, home, env, options)
    : await launchStandIn(home, env, options);
  if (options.size) await studio.page.setViewportSize(options.size);
  await studio.page.emulateMedia({ colorScheme: options.theme ?? 'light' });
  const close = studio.close;
  studio.close = async () => {
    await close();
    if (!options.home) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  return studio;
}

async function launchElectron(
  executablePath: string,
  home: string,
  env: Record<string, string>,
  options: LaunchOptions,
): Promise<Studio> {
  const app = await _electron.launch({
    executablePath,
    args: [root, `--user-data-dir=${home}`, `--lang=${options.locale ?? 'en-US'}`],
    env,
  });
  const page = await app.firstWindow();
  const complaints: string[] = [];
  listen(page, complaints);
  return {
    kind: 'electron',
    page,
    home,
    complaints,
    evaluate: (body, argument) => app.evaluate(body as never, argument) as never,
    close: () => app.close(),
  };
}

async function launchStandIn(
  home: string,
  env: Record<string, string>,
  options: LaunchOptions,
): Promise<Studio> {
  const browserPath = chromiumBinary();
  if (!browserPath)
    throw new Error('Neither Electron nor Chromium is here. On Debian: apt-get install chromium');
  const standIn = join(root, 'dist', 'e2e', 'register.mjs');
  const child = spawn(process.execPath, ['--import', standIn, entry], {
    cwd: root,
    env: {
      ...env,
      MIZUOTO_CHROMIUM: browserPath,
      MIZUOTO_STAND_IN_LOCALE: options.locale ?? 'en-US',
      MIZUOTO_STAND_IN_THEME: options.theme ?? 'light',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const channel = new StandInChannel(child);
  const browser = await chromium.connectOverCDP(await channel.endpoint);
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error('The window has no page.');
  const complaints: string[] = [];
  listen(page, complaints);
  // What the page said before we listened is said again.
  await page.reload();
  return {
    kind: 'stand-in',
    page,
    home,
    complaints,
    evaluate: (body, argument) => channel.evaluate(body.toString(), argument) as never,
    close: async () => {
      await browser.close();
      await channel.stop();
    },
  };
}

/** Requests to the stand-in's main process and its answers. */
class StandInChannel {
  readonly endpoint: Promise<string>;
  private nextId = 1;
  private readonly waiting = new Map<
    number,
    { done: (value: unknown) => void; fail: (error: Error) => void }
  >();
  private readonly exited: Promise<void>;

  constructor(private readonly child: ChildProcess) {
    this.exited = new Promise((done) => child.once('exit', () => done()));
    this.endpoint = new Promise((done, fail) => {
      child.once('exit', (code) => fail(new Error(`The studio ended at start (exit ${code}).`)));
      child.on('message', (message: { endpoint?: string; id?: number; value?: unknown; error?: string }) => {
        if (message.endpoint) done(message.endpoint);
        const request = message.id === undefined ? undefined : this.waiting.get(message.id);
        if (request && message.error) request.fail(new Error(message.error));
        else request?.done(message.value);
      });
    });
  }

  evaluate(source: string, argument: unknown): Promise<unknown> {
    const id = this.nextId++;
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      this.child.send({ id, source, argument });
    });
  }

  async stop(): Promise<void> {
    if (this.child.connected)
      await this.evaluate('(electron) => { electron.app.quit(); }', null).catch(() => undefined);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 15_000);
    await this.exited;
    clearTimeout(timer);
  }
}

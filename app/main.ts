import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, dialog, nativeTheme, protocol, session } from 'electron';
import { languageOf, Messages as Sentences } from '../main/cli/messages.ts';
import type { Settings } from '../main/contract/index.ts';
import { HostClient } from '../main/host/client.ts';
import { startLocalServer } from '../main/server/local-server.ts';
import { studioFolders } from '../main/settings/paths.ts';
import { connectBridge } from './bridge.ts';
import { setMenu } from './menu.ts';
import { type Messages, messagesFor } from './messages.ts';
import { scheme } from './origin.ts';
import { createRendererHandler } from './protocol.ts';
import { denyPermissions, guardAllContents } from './security.ts';
import { startUtilityProcess } from './utility-process.ts';
import { createWindow } from './window.ts';

/** dist/, where the bundles lie; the same inside and outside a package. */
const dist = fileURLToPath(new URL('..', import.meta.url));
const log = (message: string) => process.stderr.write(`[studio] ${message}\n`);

// Before `ready`, once: a sandbox for every page, and our scheme as a real, secure origin.
app.enableSandbox();
protocol.registerSchemesAsPrivileged([
  { scheme, privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } },
]);
guardAllContents((what) => log(`refused ${what}`));

if (app.requestSingleInstanceLock()) void start();
else app.quit();

async function start(): Promise<void> {
  await app.whenReady();
  const userData = app.getPath('userData');
  mkdirSync(userData, { recursive: true });

  const host = new HostClient({
    engineProcess: true,
    startProcess: (program) => startUtilityProcess(join(dist, 'main', `${program}.mjs`)),
  });
  let words: Messages = messagesFor('system', app.getLocale());
  // The terminal's language, which need not be the window's.
  const terminal = new Sentences(languageOf(process.env, app.getLocale()));
  host.on('log.line', ({ level, message, said }) => {
    const sentence = said === undefined ? message : terminal.said(said);
    log(level === 'info' ? `info: ${sentence}` : terminal.get(level, { message: sentence }));
  });
  const applySettings = (settings: Settings) => {
    words = messagesFor(settings['ui.language'], app.getLocale());
    nativeTheme.themeSource = settings['ui.theme'];
    setMenu(words, process.platform);
  };
  host.on('settings.changed', applySettings);
  // The theme must be known before the first paint; without settings the system's stands.
  await host.call('settings.get', {}).then(applySettings, (error: unknown) => log(String(error)));

  protocol.handle(scheme, createRendererHandler(join(dist, 'renderer')));
  denyPermissions(session.defaultSession);
  const disconnect = connectBridge(host, () => words, log);
  // For `mizuoto runtime`; the window works as well without it.
  const local = startLocalServer(host, studioFolders().config).catch((error: unknown) => {
    log(terminal.get('serverHidden', { reason: String(error) }));
    return async () => {};
  });
  trackTaskbar(host);

  const open = () =>
    createWindow({
      preload: join(dist, 'app', 'preload.cjs'),
      stateFolder: userData,
      shell: {
        kind: 'electron',
        platform: process.platform,
        locale: app.getLocale(),
        version: app.getVersion(),
      },
    });
  const window = open();
  askBeforeLosingWork(window, host, () => words);

  app.on('second-instance', () => {
    const [first] = BrowserWindow.getAllWindows();
    if (!first) return;
    if (first.isMinimized()) first.restore();
    first.focus();
  });
  app.on('activate', () => {
    if (BrowserWindow.getAllWindows().length === 0) askBeforeLosingWork(open(), host, () => words);
  });
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin') app.quit();
  });
  // The host releases devices and removes its temporary audio before the process ends.
  let closed = false;
  app.on('will-quit', (event) => {
    if (closed) return;
    event.preventDefault();
    disconnect();
    const closeLocal = local.then((close) => close());
    void Promise.allSettled([closeLocal, host.close()]).finally(() => {
      closed = true;
      app.quit();
    });
  });
}

/** Progress of the running job on the taskbar or dock. */
function trackTaskbar(host: HostClient): void {
  const show = (fraction: number) => {
    for (const window of BrowserWindow.getAllWindows()) window.setProgressBar(fraction);
  };
  host.on('job.progress', ({ fraction }) => show(Math.max(fraction, 0.01)));
  for (const name of ['job.finished', 'job.failed', 'job.cancelled'] as const) host.on(name, () => show(-1));
}

/** Closing the window while a voice is generated asks once. */
function askBeforeLosingWork(window: BrowserWindow, host: HostClient, words: () => Messages): void {
  const running = new Set<string>();
  const stops = [
    host.on('job.queued', (job) => running.add(job.job_id)),
    host.on('job.finished', ({ job_id }) => running.delete(job_id)),
    host.on('job.failed', ({ job_id }) => running.delete(job_id)),
    host.on('job.cancelled', ({ job_id }) => running.delete(job_id)),
  ];
  window.on('closed', () => {
    for (const stop of stops) stop();
  });
  window.on('close', (event) => {
    if (running.size === 0) return;
    event.preventDefault();
    const text = words();
    void dialog
      .showMessageBox(window, {
        type: 'question',
        message: text.busyTitle,
        detail: text.busyDetail,
        buttons: [text.busyQuit, text.busyStay],
        defaultId: 1,
        cancelId: 1,
      })
      .then(({ response }) => {
        if (response !== 0) return;
        running.clear();
        window.close();
      });
  });
}

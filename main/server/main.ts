import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitCode, StudioError } from '../contract/index.ts';
import { HostClient } from '../host/client.ts';
import { toErrorBody } from '../host/failures.ts';
import { studioFolders } from '../settings/paths.ts';
import { announceStudio } from './discovery.ts';
import { startStudioServer } from './studio-server.ts';

/**
 * `npm start` without Electron: serve the studio, print its address, open a browser unless told not to.
 *
 *   studio-server.mjs [--no-open] [--port N] [--renderer FOLDER]
 */
async function main(): Promise<void> {
  const { noOpen, port, renderer } = readOptions();
  const folder = renderer ?? fileURLToPath(new URL('../renderer', import.meta.url));
  if (!existsSync(`${folder}/index.html`)) {
    throw new StudioError(
      'file_not_found',
      `The page is missing in ${folder}. Run "npm run setup" and try again.`,
    );
  }
  const client = new HostClient({ engineProcess: true });
  client.on('log.line', ({ level, message }) => {
    if (level !== 'info') process.stderr.write(`mizuoto: ${level}: ${message}\n`);
  });
  const server = await startStudioServer({ client, folder, ...(port === undefined ? {} : { port }) });
  const { token } = server;
  const at = { port: server.port };
  // Without it the studio runs as well; only `mizuoto runtime` does not find it.
  const withdraw = await announceStudio(studioFolders().config, { kind: 'server', token, at }).catch(
    (error: Error) => {
      process.stderr.write(`mizuoto: warning: other programs cannot find this studio: ${error.message}\n`);
      return () => {};
    },
  );
  process.stdout.write(`Mizuoto Studio: ${server.url}\n`);
  process.stdout.write('Only this computer can open it. Press Ctrl-C to end.\n');
  if (!noOpen) openBrowser(server.url);
  let closing = false;
  const close = async (exit: number) => {
    if (closing) process.exit(exit);
    closing = true;
    process.stdout.write('Closing the studio. Ctrl-C again ends it at once.\n');
    withdraw();
    // What is being computed does not hold up the answers, nor they what is computed.
    await Promise.all([server.close(), client.close()]);
  };
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  for (const [signal, exit] of Object.entries(signals)) process.on(signal, () => void close(exit));
}

interface Options {
  noOpen: boolean;
  port: number | undefined;
  renderer: string | undefined;
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: { 'no-open': { type: 'boolean' }, port: { type: 'string' }, renderer: { type: 'string' } },
    });
    const port = values.port === undefined ? undefined : Number(values.port);
    if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
      throw new RangeError(`--port takes a number from 0 to 65535; "${values.port}" is none.`);
    }
    return { noOpen: values['no-open'] ?? false, port, renderer: values.renderer };
  } catch (error) {
    throw new StudioError(
      'invalid_request',
      `${(error as Error).message} Known are: --no-open, --port N, --renderer FOLDER.`,
    );
  }
}

/** The system's own way to open an address; where there is none, the printed address is enough. */
function openBrowser(url: string): void {
  const linux = process.platform !== 'win32' && process.platform !== 'darwin';
  if (linux && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return;
  const [command, args] =
    process.platform === 'win32'
      ? ['rundll32', ['url.dll,FileProtocolHandler', url]]
      : [linux ? 'xdg-open' : 'open', [url]];
  const child = spawn(command as string, args as string[], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

main().catch((error: unknown) => {
  const body = toErrorBody(error);
  process.stderr.write(`mizuoto: ${body.message} (${body.code})\n`);
  process.exitCode = exitCode(body.code);
});

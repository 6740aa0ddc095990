import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CommandError, languageOf, Messages } from '../cli/messages.ts';
import { exitCode, StudioError } from '../contract/index.ts';
import { HostClient } from '../host/client.ts';
import { toErrorBody } from '../host/failures.ts';
import { studioFolders } from '../settings/paths.ts';
import { announceStudio } from './discovery.ts';
import { startStudioServer } from './studio-server.ts';

const messages = new Messages(languageOf(process.env, Intl.DateTimeFormat().resolvedOptions().locale));
const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const remark = (text: string): boolean => process.stderr.write(`mizuoto: ${text}\n`);

/**
 * `npm start` without Electron: serve the studio, print its address, open a browser unless told not to.
 *
 *   studio-server.mjs [--no-open] [--port N] [--renderer FOLDER]
 */
async function main(): Promise<void> {
  const { noOpen, port, renderer } = readOptions();
  const folder = renderer ?? fileURLToPath(new URL('../renderer', import.meta.url));
  if (!existsSync(`${folder}/index.html`)) {
    throw new CommandError('file_not_found', 'serverPageMissing', { folder });
  }
  const client = new HostClient({ engineProcess: true });
  client.on('log.line', ({ level, message, said }) => {
    if (level === 'info') return;
    remark(messages.get(level, { message: said === undefined ? message : messages.said(said) }));
  });
  const server = await startStudioServer({ client, folder, ...(port === undefined ? {} : { port }) });
  const { token } = server;
  const at = { port: server.port };
  // Without it the studio runs as well; only `mizuoto runtime` does not find it.
  const withdraw = await announceStudio(studioFolders().config, { kind: 'server', token, at }).catch(
    (error: Error) => {
      const hidden = messages.get('serverHidden', { reason: error.message });
      remark(messages.get('warning', { message: hidden }));
      return () => {};
    },
  );
  // The same in every language: programs look for it.
  print(`Mizuoto Studio: ${server.url}`);
  print(messages.get('serverEnds'));
  if (!noOpen) openBrowser(server.url);
  let closing = false;
  const close = async (exit: number) => {
    if (closing) process.exit(exit);
    closing = true;
    print(messages.get('serverCloses'));
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
      throw new CommandError('invalid_request', 'serverPort', { value: values.port ?? '' });
    }
    return { noOpen: values['no-open'] ?? false, port, renderer: values.renderer };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    // Node's sentence is English; the option that it names is not.
    const option = /'(?:-, )?(\S+?)[ ']/.exec((error as Error).message)?.[1] ?? '';
    throw new CommandError('invalid_request', 'serverOption', { option }, { cause: error });
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
  const said = messages.error(error instanceof StudioError ? error : StudioError.fromBody(body));
  remark(`${said}${messages.get('hintCode', { code: body.code })}`);
  process.exitCode = exitCode(body.code);
});

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RuntimeReport, StudioClient } from '../contract/index.ts';
import { send } from './answers.ts';
import { RequestError } from './guards.ts';

/** `GET /api/v1/runtime`: what `mizuoto runtime --json` shows, and the versions. Whoever asks has been checked. */
export async function sendRuntimeReport(
  client: StudioClient,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    throw new RequestError(405, 'httpOnly', { method: 'GET' });
  }
  const [{ version, ggml }, snapshot] = await Promise.all([
    client.call('host.info', {}),
    client.call('runtime.snapshot', {}),
  ]);
  const report: RuntimeReport = { ...snapshot, versions: { mizuoto: version, ggml } };
  send(request, response, report);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Messages } from '../cli/messages.ts';
import { type ErrorCode, encodeWire, holdsBinary, StudioError, wireContentType } from '../contract/index.ts';
import { toErrorBody } from '../host/failures.ts';
import { RequestError } from './guards.ts';
import { inWordsOf, messagesFor } from './language.ts';
import { securityHeaders } from './static-files.ts';

const statusOf: Partial<Record<ErrorCode, number>> = {
  forbidden: 403,
  job_not_found: 404,
  unknown_engine: 404,
  unknown_voice: 404,
  unknown_model: 404,
  model_not_installed: 404,
  internal: 500,
  host_unreachable: 503,
  host_crashed: 503,
};

/** A call's response: JSON, or one wire message where it holds binary data. */
export function send(request: IncomingMessage, response: ServerResponse, value: unknown): void {
  const messages = messagesFor(request);
  const binary = holdsBinary(value);
  const said = inWordsOf(messages, value);
  const body = binary ? encodeWire(said) : Buffer.from(JSON.stringify(said));
  response.writeHead(200, {
    ...securityHeaders,
    ...languageHeaders(messages),
    'content-type': binary ? wireContentType : 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}

/** `{ error: ErrorBody }` with the status that fits. */
export function fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const messages = messagesFor(request);
  const body = toErrorBody(error);
  const message = messages.error(error instanceof StudioError ? error : StudioError.fromBody(body));
  const status = error instanceof RequestError ? error.status : (statusOf[body.code] ?? 400);
  // What was not read of a refused request is not read later either.
  response.writeHead(status, {
    ...securityHeaders,
    ...languageHeaders(messages),
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
  });
  response.end(JSON.stringify({ error: { ...body, message } }));
}

const languageHeaders = ({ language }: Messages) => ({
  'cache-control': 'no-store',
  'content-language': language,
  vary: 'accept-language',
});

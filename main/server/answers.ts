import type { ServerResponse } from 'node:http';
import { type ErrorCode, encodeWire, holdsBinary, wireContentType } from '../contract/index.ts';
import { toErrorBody } from '../host/failures.ts';
import { RequestError } from './guards.ts';
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
export function send(response: ServerResponse, value: unknown): void {
  const binary = holdsBinary(value);
  const body = binary ? encodeWire(value) : Buffer.from(JSON.stringify(value));
  response.writeHead(200, {
    ...securityHeaders,
    'cache-control': 'no-store',
    'content-type': binary ? wireContentType : 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}

/** `{ error: ErrorBody }` with the status that fits. */
export function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = toErrorBody(error);
  const status = error instanceof RequestError ? error.status : (statusOf[body.code] ?? 400);
  // What was not read of a refused request is not read later either.
  response.writeHead(status, {
    ...securityHeaders,
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
  });
  response.end(JSON.stringify({ error: body }));
}

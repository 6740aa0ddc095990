import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { MessageKey } from '../cli/messages.en.ts';
import { CommandError, type Params } from '../cli/messages.ts';

/**
 * The names under which this computer reaches itself. A page of another site that points its own name at 127.0.0.1
 * (DNS rebinding) still says that name in Host.
 */
function ownHosts(port: number): string[] {
  return ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
}

export function isOwnHost(request: IncomingMessage, port: number): boolean {
  return ownHosts(port).includes((request.headers.host ?? '').toLowerCase());
}

/** No Origin at all (not a page), or our own page; never `null`, never another scheme. */
export function isOwnOrigin(request: IncomingMessage, port: number): boolean {
  const { origin } = request.headers;
  return origin === undefined || ownHosts(port).some((host) => origin === `http://${host}`);
}

/** Compared by hash, so that neither length nor a common beginning shows in the time it takes. */
export function hasToken(request: IncomingMessage, token: string): boolean {
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

/** The request's JSON, at most `limit` bytes. Only JSON's own content type: other sites' forms cannot send it. */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new RequestError(415, type === '' ? 'httpNoType' : 'httpType', { type });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new RequestError(400, 'httpNotJson');
  }
}

function tooLarge(limit: number): RequestError {
  return new RequestError(413, 'httpTooLarge', { limit: limit.toLocaleString('en') });
}

/** A refusal below the contract: its HTTP status says more than its code. */
export class RequestError extends CommandError {
  constructor(
    readonly status: number,
    key: MessageKey,
    values: Params = {},
  ) {
    super(status === 401 || status === 403 ? 'forbidden' : 'invalid_request', key, values);
  }
}

import { readFile, realpath } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import type { MessageKey } from '../cli/messages.en.ts';
import type { Params } from '../cli/messages.ts';
import type { StudioError } from '../contract/errors.ts';
import { contentSecurityPolicy } from '../contract/security.ts';
import { messagesFor } from './language.ts';

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
};

/** Every answer of the server carries these. */
export const securityHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;

export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  reason: MessageKey | StudioError,
  values: Params = {},
): void {
  const messages = messagesFor(request);
  response.writeHead(status, {
    ...securityHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'content-language': messages.language,
  });
  response.end(`${typeof reason === 'string' ? messages.get(reason, values) : messages.error(reason)}\n`);
}

/**
 * Files of the renderer's folder and nothing else: the path is decoded once, and the real path (symlinks resolved)
 * must lie inside the folder. Only the types that a page needs.
 */
export async function serveFile(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refuse(request, response, 405, 'httpOnly', { method: 'GET' });
  let path: string;
  try {
    // The raw target, not a parsed URL: parsing would fold `..` away before it is seen.
    path = decodeURIComponent((request.url ?? '/').split(/[?#]/)[0] ?? '/');
  } catch {
    return refuse(request, response, 400, 'httpMalformed');
  }
  const outside = !path.startsWith('/') || /[\\:\0]/.test(path) || path.split('/').includes('..');
  if (outside) return refuse(request, response, 403, 'httpLeaves');
  const name = path === '/' ? '/index.html' : path;
  const type = contentTypes[extname(name)];
  if (!type) return refuse(request, response, 404, 'httpNoFile');
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, name));
    if (!file.startsWith(root + sep)) return refuse(request, response, 403, 'httpLeaves');
    const body = await readFile(file);
    response.writeHead(200, { ...securityHeaders, 'content-type': type, 'content-length': body.length });
    response.end(request.method === 'HEAD' ? undefined : body);
  } catch {
    refuse(request, response, 404, 'httpNoFile');
  }
}

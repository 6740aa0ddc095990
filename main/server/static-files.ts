import { readFile, realpath } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { contentSecurityPolicy } from '../contract/security.ts';

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

export function refuse(response: ServerResponse, status: number, reason: string): void {
  response.writeHead(status, { ...securityHeaders, 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${reason}\n`);
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
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, 'Only GET.');
  let path: string;
  try {
    // The raw target, not a parsed URL: parsing would fold `..` away before it is seen.
    path = decodeURIComponent((request.url ?? '/').split(/[?#]/)[0] ?? '/');
  } catch {
    return refuse(response, 400, 'The address is malformed.');
  }
  const outside = !path.startsWith('/') || /[\\:\0]/.test(path) || path.split('/').includes('..');
  if (outside) return refuse(response, 403, 'The address leaves the studio.');
  const name = path === '/' ? '/index.html' : path;
  const type = contentTypes[extname(name)];
  if (!type) return refuse(response, 404, 'No such file.');
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, name));
    if (!file.startsWith(root + sep)) return refuse(response, 403, 'The address leaves the studio.');
    const body = await readFile(file);
    response.writeHead(200, { ...securityHeaders, 'content-type': type, 'content-length': body.length });
    response.end(request.method === 'HEAD' ? undefined : body);
  } catch {
    refuse(response, 404, 'No such file.');
  }
}

import { readFile, realpath } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { contentSecurityPolicy } from '../main/contract/security.ts';
import { isOwnUrl } from './origin.ts';

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
};

const headers = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
};

/**
 * Answers `mizuoto://app/...` with files of the renderer's folder and nothing else: the address is parsed, the path
 * decoded once, and the real path (symlinks resolved) must lie inside the folder.
 */
export function createRendererHandler(folder: string): (request: Request) => Promise<Response> {
  const refuse = (status: number, reason: string) =>
    new Response(reason, { status, headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' } });

  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405, 'Only GET.');
    if (!isOwnUrl(request.url)) return refuse(403, 'Not an address of the studio.');
    let path: string;
    try {
      path = decodeURIComponent(new URL(request.url).pathname);
    } catch {
      return refuse(400, 'The address is malformed.');
    }
    // Windows reads both separators and drive letters: neither may appear in a decoded path.
    if (path.includes('\\') || path.includes('\0') || path.includes(':') || path.split('/').includes('..')) {
      return refuse(403, 'The address leaves the studio.');
    }
    const type = contentTypes[extname(path === '/' ? '/index.html' : path)];
    if (!type) return refuse(404, 'No such file.');
    try {
      const root = await realpath(folder);
      const file = await realpath(join(root, path === '/' ? 'index.html' : path));
      if (!file.startsWith(root + sep)) return refuse(403, 'The address leaves the studio.');
      const body = await readFile(file);
      return new Response(new Uint8Array(body), { headers: { ...headers, 'content-type': type } });
    } catch {
      return refuse(404, 'No such file.');
    }
  };
}

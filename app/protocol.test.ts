import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRendererHandler } from './protocol.ts';

let folder = '';
let handler: (request: Request) => Promise<Response>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-protocol-'));
  mkdirSync(join(folder, 'renderer', 'assets'), { recursive: true });
  writeFileSync(join(folder, 'renderer', 'index.html'), '<!doctype html><title>studio</title>');
  writeFileSync(join(folder, 'renderer', 'assets', 'a.js'), 'export {};');
  writeFileSync(join(folder, 'secret.js'), 'secret');
  symlinkSync(join(folder, 'secret.js'), join(folder, 'renderer', 'link.js'));
  handler = createRendererHandler(join(folder, 'renderer'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `Request` normalises addresses, as Chromium does not for a custom scheme: hand the raw text over. */
const ask = (url: string, method = 'GET') => handler({ url, method } as Request);

describe('the renderer over mizuoto://', () => {
  it.each([
    ['mizuoto://app/', 'text/html; charset=utf-8'],
    ['mizuoto://app/index.html', 'text/html; charset=utf-8'],
    ['mizuoto://app/assets/a.js', 'text/javascript; charset=utf-8'],
  ])('serves %s', async (url, type) => {
    const response = await ask(url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
  });

  it('sends the policy with every answer, errors too', async () => {
    for (const url of ['mizuoto://app/', 'mizuoto://app/none.js', 'mizuoto://evil/']) {
      const policy = (await ask(url)).headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*/);
    }
  });

  it.each([
    'mizuoto://app/../secret.js',
    'mizuoto://app/%2e%2e/secret.js',
    'mizuoto://app/..%2fsecret.js',
    'mizuoto://app/%2e%2e%2fsecret.js',
    'mizuoto://app/assets/..%5c..%5csecret.js',
    'mizuoto://app/link.js',
    'mizuoto://app//etc/passwd',
    'mizuoto://app/C:/secret.js',
    'mizuoto://app/a%00.js',
    'mizuoto://app/%E0%A4%A',
    'mizuoto://evil/index.html',
    'file:///etc/hostname',
    'mizuoto://app/assets',
    'mizuoto://app/none.js',
  ])('refuses %s', async (url) => {
    const response = await ask(url);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.text()).not.toContain('secret');
  });

  it('refuses everything but reading', async () => {
    expect((await ask('mizuoto://app/', 'POST')).status).toBe(405);
  });
});

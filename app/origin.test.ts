import { describe, expect, it } from 'vitest';
import { isAllowedExternal, isOwnUrl } from './origin.ts';

describe('own address', () => {
  it.each([
    ['mizuoto://app/index.html', true],
    ['mizuoto://app/', true],
    ['mizuoto://app/assets/a.js?x#y', true],
    ['mizuoto://app.evil/index.html', false],
    ['mizuoto://app@evil/index.html', false],
    ['mizuoto://user@app/index.html', false],
    ['mizuoto://app:8080/index.html', false],
    ['mizuoto://evil/app', false],
    ['mizuotox://app/', false],
    ['https://app/', false],
    ['file:///index.html', false],
    ['javascript:alert(1)', false],
    ['data:text/html,mizuoto://app/', false],
    ['', false],
  ])('%s -> %s', (url, own) => expect(isOwnUrl(url)).toBe(own));
});

describe('external links', () => {
  it.each([
    ['https://github.com/a/b', true],
    ['https://huggingface.co/x', true],
    ['http://github.com/a', false],
    ['https://github.com.evil.example/', false],
    ['https://evil.example/github.com', false],
    ['https://github.com@evil.example/', false],
    ['https://user:pass@github.com/', false],
    ['https://github.com:8443/', false],
    ['https://xn--gthub-cta.com/', false],
    ['https://gıthub.com/', false],
    ['file:///etc/passwd', false],
    ['ms-settings:', false],
    ['not an address', false],
  ])('%s -> %s', (url, allowed) => expect(isAllowedExternal(url)).toBe(allowed));
});

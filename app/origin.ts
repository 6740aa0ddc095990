/** The studio's own origin. A standard, secure scheme, so that the page has a real origin and no file access. */
export const scheme = 'mizuoto';
export const appHost = 'app';
export const appOrigin = `${scheme}://${appHost}`;
export const appUrl = `${appOrigin}/index.html`;

/**
 * Whether an address belongs to the studio's own page. Compares parsed parts, never prefixes: `mizuoto://app.evil/`
 * and `mizuoto://app@evil/` are not ours. (WHATWG URL gives origin "null" to schemes it does not know.)
 */
export function isOwnUrl(address: string): boolean {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return false;
  }
  return url.protocol === `${scheme}:` && url.host === appHost && url.username === '' && url.password === '';
}

/** Hosts that a click may open in the person's browser, over https only. */
const externalHosts = new Set([
  'github.com',
  'huggingface.co',
  'modelscope.cn',
  'www.modelscope.cn',
  'www.apache.org',
]);

export function isAllowedExternal(address: string): boolean {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return false;
  }
  return (
    url.protocol === 'https:' &&
    externalHosts.has(url.hostname) &&
    url.port === '' &&
    url.username === '' &&
    url.password === ''
  );
}

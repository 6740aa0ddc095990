import { browserBridge, takeToken } from './browser.ts';
import type { StudioBridge } from './types.ts';

/** The shell's bridge where there is one; in a plain browser the same over HTTP. */
export async function openBridge(): Promise<StudioBridge> {
  if (window.mizuoto !== undefined) return window.mizuoto;
  if (__FAKE_HOST__) {
    const scenario = new URLSearchParams(window.location.search).get('fake');
    if (scenario !== null) return (await import('./fake.ts')).fakeBridge(scenario);
  }
  return browserBridge({
    fetch: window.fetch.bind(window),
    token: takeToken(window.location, window.history, window.sessionStorage),
    locale: navigator.language,
    platform: /mac/i.test(navigator.userAgent)
      ? 'darwin'
      : /windows/i.test(navigator.userAgent)
        ? 'win32'
        : 'linux',
    download(url, name) {
      const link = document.createElement('a');
      link.href = url;
      link.download = name;
      link.click();
    },
    openWindow(url) {
      window.open(url, '_blank', 'noopener,noreferrer');
    },
  });
}

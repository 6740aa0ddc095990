import { expect, test } from '@playwright/test';
import { launchStudio, type Studio } from './studio.ts';

let studio: Studio;
test.beforeAll(async () => {
  studio = await launchStudio();
});
test.afterAll(async () => {
  await studio.close();
});

test('the page has no Node, no require and only the named functions', async () => {
  const { page } = studio;
  const seen = await page.evaluate(() => {
    const w = window as unknown as Record<string, unknown>;
    return {
      require: typeof w.require,
      process: typeof w.process,
      module: typeof w.module,
      ipcRenderer: typeof w.ipcRenderer,
      keys: Object.keys(w.mizuoto as object).sort(),
    };
  });
  expect(seen).toEqual({
    require: 'undefined',
    process: 'undefined',
    module: 'undefined',
    ipcRenderer: 'undefined',
    keys: ['call', 'on', 'openExternal', 'saveAudio', 'saveTrace', 'shell'],
  });
});

test('every window isolates and sandboxes its page', async () => {
  const preferences = await studio.evaluate(({ BrowserWindow }) => {
    return BrowserWindow.getAllWindows().map((window) => {
      const contents = window.webContents as unknown as { getLastWebPreferences(): Record<string, unknown> };
      const { contextIsolation, nodeIntegration, sandbox, webviewTag } = contents.getLastWebPreferences();
      return { contextIsolation, nodeIntegration, sandbox, webviewTag };
    });
  }, null);
  expect(preferences).toEqual([
    { contextIsolation: true, nodeIntegration: false, sandbox: true, webviewTag: false },
  ]);
});

test('a link, a new window and an inline script lead nowhere', async () => {
  const { page } = studio;
  const before = page.url();
  await page.evaluate(() => {
    const link = document.createElement('a');
    link.href = 'https://evil.example/';
    document.body.append(link);
    link.click();
    link.remove();
  });
  await page.waitForTimeout(300);
  expect(page.url()).toBe(before);

  await page.evaluate(() => {
    window.open('https://evil.example/');
  });
  await expect.poll(() => page.context().pages().length).toBe(1);

  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    document.body.append(script);
    return 'injected' in window;
  });
  expect(ran).toBe(false);
  // In a task of the page's own: what DevTools evaluates is exempt from the policy.
  const evaluated = await page.evaluate(
    () =>
      new Promise<string>((done) => {
        setTimeout(() => {
          try {
            // biome-ignore lint/security/noGlobalEval: the policy must refuse it.
            done(String(globalThis.eval('1 + 1')));
          } catch (error) {
            done((error as Error).name);
          }
        });
      }),
  );
  expect(evaluated).toBe('EvalError');
});

test('unknown and shell-only calls are refused with data', async () => {
  for (const name of ['jobs.export', 'runtime.export_trace', 'no.such.call', '__proto__']) {
    const error = await studio.page.evaluate(async (call) => {
      const bridge = (window as unknown as { mizuoto: { call(n: string, r: unknown): Promise<unknown> } })
        .mizuoto;
      return bridge.call(call, { job_id: 'x', path: '/tmp/x.wav' }).then(
        () => null,
        (e: { code?: string }) => e.code ?? String(e),
      );
    }, name);
    expect(error, name).toBe('invalid_request');
  }
});

test('a link outside the list is not opened', async () => {
  const error = await studio.page.evaluate(async () => {
    const bridge = (window as unknown as { mizuoto: { openExternal(url: string): Promise<void> } }).mizuoto;
    return bridge.openExternal('https://github.com.evil.example/').then(
      () => null,
      (e: { code?: string }) => e.code,
    );
  });
  expect(error).toBe('forbidden');
});

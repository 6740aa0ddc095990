import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { artifacts, expectAccessible, withStudio } from './scene.ts';

const text = 'Hello from Mizuoto. It is half past nine, and the water is calm.';
const longText = Array.from(
  { length: 60 },
  (_, i) => `This is sentence number ${i + 1} of a long story.`,
).join(' ');

/** Samples of a 16-bit WAV file. */
function pcm16(path: string): { rate: number; samples: Int16Array } {
  const bytes = readFileSync(path);
  expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
  const data = bytes.indexOf('data', 12, 'latin1');
  const length = bytes.readUInt32LE(data + 4);
  const body = bytes.subarray(data + 8, data + 8 + length);
  return {
    rate: bytes.readUInt32LE(24),
    samples: new Int16Array(body.buffer.slice(body.byteOffset, body.byteOffset + length)),
  };
}

test('a person types, generates, hears, saves, and watches memory', async () => {
  await withStudio({}, async ({ page, evaluate, home }) => {
    await expect(page.getByTestId('screen-generate')).toBeVisible();
    await expect(page.getByTestId('device-chip')).toContainText('CPU');
    await page.screenshot({ path: join(artifacts, 'generate-idle.png') });

    await page.getByTestId('script').fill(text);
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('result')).toHaveCount(1);
    await expect(page.getByTestId('waveform')).toBeVisible();
    await page.screenshot({ path: join(artifacts, 'generate-finished.png') });

    const target = join(home, '你好 hello.wav');
    await evaluate(({ dialog }, path) => {
      dialog.showSaveDialog = (async () => ({ canceled: false, filePath: path })) as never;
    }, target);
    await page.getByTestId('player-save').click();
    await expect
      .poll(() => {
        try {
          return readFileSync(target).length;
        } catch {
          return 0;
        }
      })
      .toBeGreaterThan(44);
    const { rate, samples } = pcm16(target);
    expect(rate).toBe(24_000);
    expect(samples.length / rate).toBeGreaterThan(3);
    expect(samples.length / rate).toBeLessThan(10);
    const rms = Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length) / 32768;
    expect(rms, 'the audio is not silent').toBeGreaterThan(0.01);
    expect(samples.filter((x) => Math.abs(x) >= 32767).length, 'the audio does not clip').toBe(0);

    await page.getByTestId('nav-memory').click();
    await expect(page.getByTestId('model')).toHaveCount(1);
    await expect(page.getByTestId('component')).toHaveCount(2);
    await page.screenshot({ path: join(artifacts, 'memory-loaded.png') });
    await page.getByTestId('unload').click();
    await expect(page.getByTestId('freed')).toBeVisible();
    await expect(page.getByTestId('model')).toHaveCount(0);
    await page.screenshot({ path: join(artifacts, 'memory-unloaded.png') });
  });
});

test('progress moves, and Stop stops and keeps what is finished', async () => {
  await withStudio({}, async ({ page }) => {
    await page.getByTestId('script').fill(longText);
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('progress')).toBeVisible();
    await expect.poll(() => page.getByTestId('progress').textContent()).toMatch(/[1-9]/);
    await page.screenshot({ path: join(artifacts, 'generate-running.png') });
    await page.getByTestId('stop').click();
    await expect(page.getByTestId('stop')).toHaveCount(0, { timeout: 5_000 });
    await expect(page.getByTestId('progress')).toHaveCount(0);
    // The studio goes on: the next request works.
    await page.getByTestId('script').fill('Still here.');
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('result').first()).toContainText('Still here');
  });
});

test('on a card of a few megabytes the voice streams, and the memory screen says why', async () => {
  await withStudio({}, async ({ page }) => {
    await page.evaluate(() =>
      (
        window as unknown as { mizuoto: { call(name: string, request: unknown): Promise<unknown> } }
      ).mizuoto.call('settings.set', {
        patch: { 'compute.simulate_vram_mb': 7, 'compute.vram_reserve_mb': 0 },
      }),
    );
    await page.getByTestId('script').fill(text);
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('result')).toHaveCount(1, { timeout: 60_000 });
    await page.getByTestId('nav-memory').click();
    await expect(page.getByTestId('partial-reason').first()).toBeVisible();
    await page.screenshot({ path: join(artifacts, 'memory-partial.png') });
  });
});

test('Chinese text is a clear error for the English voice', async () => {
  await withStudio({}, async ({ page }) => {
    await page.getByTestId('script').fill('今天天气很好，我们去海边散步。');
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('error-card')).toBeVisible();
    await expect(page.getByTestId('error-card')).toContainText(/English/i);
    await page.screenshot({ path: join(artifacts, 'generate-error.png') });
  });
});

for (const [locale, theme] of [
  ['zh-CN', 'dark'],
  ['en-US', 'dark'],
  ['zh-CN', 'light'],
] as const) {
  test(`the window in ${locale}, ${theme}: same paths, accessible`, async () => {
    await withStudio({ locale, theme }, async ({ page }) => {
      await page.getByTestId('script').fill(text);
      await page.getByTestId('generate').click();
      await expect(page.getByTestId('result')).toHaveCount(1);
      if (locale === 'zh-CN') {
        await expect(page.getByTestId('generate')).toContainText('生成');
        await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
      }
      await page.screenshot({ path: join(artifacts, `generate-${locale}-${theme}.png`) });
      await page.getByTestId('nav-memory').click();
      await expect(page.getByTestId('model')).toHaveCount(1);
      await page.screenshot({ path: join(artifacts, `memory-${locale}-${theme}.png`) });
      await expectAccessible(page);
    });
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { encodeWav } from '../main/audio/wav.ts';
import { artificialReference } from '../main/engines/plain-task.ts';
import { call, expectAccessible, picture, withStudio } from './scene.ts';
import { root } from './studio.ts';

const tiny = join(root, 'main', 'engines', 'qwen3-tts', 'fixtures', 'tiny');
const widths = [640, 480] as const;

/** Nothing that a person reads or presses may lie on another such thing, or beyond the window's edge. */
async function expectNoOverlap(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const screen = document.querySelector('[data-testid="screen-generate"]')!;
    const boxes = [...screen.querySelectorAll('button, select, textarea, input, summary, label, p, code')]
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ element, box }) => box.width > 1 && box.height > 1 && element.checkVisibility());
    const name = ({ element }: (typeof boxes)[number]) =>
      `${element.tagName} ${(element.textContent || element.id).slice(0, 30)}`;
    const wide = boxes.filter(({ box }) => box.right > window.innerWidth + 1 || box.left < -1).map(name);
    const pairs = boxes.flatMap((a, index) =>
      boxes
        .slice(index + 1)
        .filter((b) => !a.element.contains(b.element) && !b.element.contains(a.element))
        .filter(
          (b) =>
            Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 2 &&
            Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > 2,
        )
        .map((b) => `${name(a)} / ${name(b)}`),
    );
    return { wide, pairs };
  });
  expect(found).toEqual({ wide: [], pairs: [] });
}

test('the Generate screen is one column in a narrow window, and voices without a transcript say so', async () => {
  test.setTimeout(240_000);
  const home = mkdtempSync(join(tmpdir(), 'mizuoto-e2e-'));
  try {
    await withStudio({ home, size: { width: 1280, height: 900 } }, async ({ page }) => {
      await call(page, 'models.add', { path: join(tiny, 'base') });
      const { samples, sampleRate } = artificialReference();
      const { bytes } = encodeWav([samples.subarray(0, 2 * sampleRate)], { sampleRate });
      const audio = Buffer.from(bytes).toString('base64');
      await call(page, 'voices.add', { name: 'Grandfather', audio, language: 'en' });
      await call(page, 'voices.add', { name: 'Aunt', audio, language: 'en', text: 'She said so.' });
      const speed = page.getByTestId('speed').getByRole('textbox');
      await speed.fill('1.2');
      await speed.press('Enter');
      await page.getByTestId('engine').selectOption('qwen3-tts');
      await expect(page.getByTestId('dropped')).toHaveText(
        'Qwen3-TTS does not have Speed: what was set there is not used.',
      );
      const voice = page.getByTestId('voice');
      await expect(voice.locator('option', { hasText: 'Grandfather' })).toContainText('no transcript');
      await expect(voice.locator('option', { hasText: 'Aunt' })).not.toContainText('no transcript');
      await voice.selectOption('saved:grandfather');
      await expect(page.getByTestId('wordless-hint')).toContainText(
        'mizuoto voices change grandfather --text',
      );
      await page.getByTestId('script').fill('The evening was quiet, and the water ran over the stones.');
      await picture(page, 'wordless-en.png');
      await expectNoOverlap(page);
      await call(page, 'settings.set', { patch: { 'compute.threads': 1 } });
      await page.getByTestId('script').fill('hello.');
      await page.getByTestId('generate').click();
      await expect(page.getByTestId('result')).toHaveCount(1, { timeout: 60_000 });
      await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
      await page.getByTestId('script').fill('The evening was quiet, and the water ran over the stones.');
      for (const width of widths) await pictures(page, width, 'en');
      await voice.selectOption('saved:aunt');
      await expect(page.getByTestId('wordless-hint')).toHaveCount(0);
    });
    await withStudio(
      { home, locale: 'zh-CN', theme: 'dark', size: { width: 640, height: 760 } },
      async ({ page }) => {
        await page.getByTestId('script').fill('夜里很安静，水流过石头。');
        await page.getByTestId('engine').selectOption('mini');
        const speed = page.getByTestId('speed').getByRole('textbox');
        await speed.fill('1.2');
        await speed.press('Enter');
        await page.getByTestId('engine').selectOption('qwen3-tts');
        await page.getByTestId('voice').selectOption('saved:grandfather');
        await expect(page.getByTestId('dropped')).toContainText('Qwen3-TTS 没有语速');
        for (const width of widths) await pictures(page, width, 'zh');
      },
    );
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
});

async function pictures(page: Page, width: number, language: string): Promise<void> {
  await page.setViewportSize({ width, height: 760 });
  await page.getByTestId('script').scrollIntoViewIfNeeded();
  await page.evaluate(() => document.querySelector('[data-testid="screen-generate"]')!.scrollTo(0, 0));
  await picture(page, `narrow-${width}-${language}-top.png`);
  await expectNoOverlap(page);
  await page.evaluate(() => document.querySelector('[data-testid="screen-generate"]')!.scrollTo(0, 99_999));
  await picture(page, `narrow-${width}-${language}-panel.png`);
  await expectNoOverlap(page);
  await expectAccessible(page);
}

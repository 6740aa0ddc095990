import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { call, expectAccessible, picture, withStudio } from './scene.ts';
import type { Studio } from './studio.ts';

const card = { 'compute.simulate_vram_mb': 24, 'compute.vram_reserve_mb': 0, 'compute.threads': 1 };

/** A studio whose simulated devices are lost as these lines say, one for each that is opened: at which segment, 0 never. */
async function withLosses(
  losses: readonly number[],
  body: (studio: Studio, script: string) => Promise<void>,
  locale: 'en-US' | 'zh-CN' = 'en-US',
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mizuoto-losses-'));
  const script = join(folder, 'losses');
  writeFileSync(script, losses.join('\n'));
  try {
    await withStudio({ locale, env: { MIZUOTO_TEST_LOSE_DEVICE: script } }, (studio) => body(studio, script));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function generate(page: Page, text: string): Promise<void> {
  await page.getByTestId('script').fill(text);
  await page.getByTestId('generate').click();
}

test('a device that is lost while a voice is generated heals, and what waits behind it is spoken', async () => {
  // A sentence takes about fifty segments: the first request is lost within its second or third.
  await withLosses([100, 0], async ({ page }, script) => {
    await call(page, 'settings.set', { patch: card });
    await call(page, 'models.load', { model: 'mini' });
    await call(page, 'models.pin', { model: 'mini', pinned: true });
    await generate(page, 'Hello. The water is calm. It is late. We go home.');
    await generate(page, 'The sea is quiet.');
    const error = page.locator('[data-code="device_lost"]');
    await expect(error).toContainText('Simulated', { timeout: 60_000 });
    await expect(error).toContainText('the engine was started again');
    await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
    const { jobs } = await call(page, 'jobs.list', {});
    expect(jobs.map(({ state }) => state).sort()).toEqual(['failed', 'finished']);
    const done = jobs.find(({ state }) => state === 'finished')!;
    expect(done.result!.meta.memory.device).toBe('Simulated0');
    expect(readFileSync(script, 'utf8')).toBe('');
    await picture(page, 'lost-device.png');

    await page.getByTestId('nav-memory').click();
    const incident = page.getByTestId('incident');
    await expect(incident).toHaveCount(1);
    await expect(incident).toContainText('started again in a fresh process');
    const { models } = await call(page, 'runtime.snapshot', {});
    expect(models).toMatchObject([{ id: 'mini', pinned: true, device: 'Simulated0' }]);
    await expectAccessible(page);
    await picture(page, 'lost-device-memory.png');

    // The same text again, now whole.
    await page.getByTestId('nav-generate').click();
    await error.getByRole('button').first().click();
    await expect
      .poll(
        async () =>
          (await call(page, 'jobs.list', {})).jobs.filter(({ state }) => state === 'finished').length,
        {
          timeout: 60_000,
        },
      )
      .toBe(2);
  });
});

test('a device that is lost again and again is left alone, and the window says what to do', async () => {
  await withLosses(
    [1, 1, 1],
    async ({ page }) => {
      await call(page, 'settings.set', { patch: card });
      const error = page.locator('[data-code="device_lost"]');
      await generate(page, 'Hello.');
      await expect(error).toHaveCount(1, { timeout: 60_000 });
      await generate(page, 'Hello again.');
      await expect(error.filter({ hasText: '10 分钟内失去响应 3 次，不再尝试' })).toHaveCount(1, {
        timeout: 60_000,
      });
      await page.getByTestId('nav-memory').click();
      await expect(page.getByTestId('incident').first()).toContainText('不再使用');
      await picture(page, 'lost-device-again.png');
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectAccessible(page);
      await picture(page, 'lost-device-again-dark.png');
      await call(page, 'settings.set', { patch: { 'compute.simulate_vram_mb': null } });
      await page.getByTestId('nav-generate').click();
      await generate(page, 'The processor speaks.');
      await expect
        .poll(async () => (await call(page, 'jobs.list', {})).jobs.map(({ state }) => state).sort(), {
          timeout: 60_000,
        })
        .toEqual(['failed', 'failed', 'finished']);
    },
    'zh-CN',
  );
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { artifacts, call, expectAccessible, withStudio } from './scene.ts';

const text = 'Hello from Mizuoto. It is half past nine, and the water is calm.';
const MiB = 1024 ** 2;

/** A simulated card on which the voice has spoken a few times, so that everything is measured. */
async function spokenOn(page: Page, megabytes: number, times = 3): Promise<void> {
  await call(page, 'settings.set', {
    patch: { 'compute.simulate_vram_mb': megabytes, 'compute.vram_reserve_mb': 0 },
  });
  for (let time = 1; time <= times; time++) {
    await page.getByTestId('script').fill(text);
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('result')).toHaveCount(time);
    await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
  }
  await page.getByTestId('nav-memory').click();
}

/** The whole screen in one picture. */
async function picture(page: Page, name: string): Promise<void> {
  const size = page.viewportSize() ?? { width: 1280, height: 800 };
  const height = await page.getByTestId('screen-memory').evaluate((element) => element.scrollHeight);
  await page.setViewportSize({ width: size.width, height: height + 140 });
  await page.screenshot({ path: join(artifacts, `${name}.png`) });
  await page.setViewportSize(size);
}

test('the slider says what a limit would cost, and the limit costs what it said', async () => {
  await withStudio({}, async ({ page }) => {
    await spokenOn(page, 24);
    const slider = page.getByTestId('what-if-slider');
    const outlook = page.getByTestId('outlook');
    await expect(outlook).toHaveCount(1);
    await expect(page.getByTestId('what-if-limit')).toContainText('No limit');
    await expect(page.getByTestId('outlook-streamed')).toHaveText('0 bytes');
    await expect(page.getByTestId('outlook-time')).toContainText('as fast as with everything resident');
    await expect(page.getByTestId('what-if-apply')).toBeDisabled();

    // By keyboard, down to the least.
    await slider.focus();
    const before = await outlook.boundingBox();
    await page.keyboard.press('Home');
    await expect(page.getByTestId('what-if-limit')).toContainText('1 MB of 24 MB');
    await expect(outlook).toHaveAttribute('data-fits', 'false');
    await expect(page.getByTestId('outlook-component').first()).not.toHaveAttribute('data-partial', '');
    // Nothing that is read jumps while the slider moves.
    expect(await outlook.boundingBox()).toEqual(before);

    await page.getByTestId('what-if-smallest').click();
    await expect(outlook).toHaveAttribute('data-fits', 'true');
    await expect(page.getByTestId('outlook-streamed')).not.toHaveText('0 bytes');
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    await expect(outlook).toHaveAttribute('data-fits', 'true');
    await expect(page.getByTestId('outlook-time')).toContainText('with everything resident');
    await page.screenshot({ path: join(artifacts, 'what-if.png') });

    // What the planner promises is what the manager does.
    const limit = Number(await slider.getAttribute('aria-valuenow'));
    const promised = await call(page, 'runtime.what_if', {
      device: 'Simulated0',
      limit_mb: limit,
      mode: 'auto',
    });
    await page.getByTestId('what-if-apply').click();
    await expect(page.getByTestId('notice-limit')).toContainText(`${limit} MB`);
    await expect(page.getByTestId('what-if-apply')).toHaveText('In force');
    expect((await call(page, 'settings.get', {}))['compute.vram_limit_mb']).toBe(limit);
    await page.getByTestId('nav-generate').click();
    for (const count of [4, 5]) {
      await page.getByTestId('script').fill(text);
      await page.getByTestId('generate').click();
      await expect(page.getByTestId('result')).toHaveCount(count);
      await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
    }
    const snapshot = await call(page, 'runtime.snapshot', {});
    const { held } = snapshot.devices.find(({ id }) => id === 'Simulated0')!;
    expect(held.weights + held.slots + held.compute + held.io + held.state).toBeLessThanOrEqual(limit * MiB);
    // What each had in its stage, within two units: working memory is still being measured. Afterwards they take turns.
    const jobs = [...(await call(page, 'jobs.list', {})).jobs].sort((a, b) => a.created_at - b.created_at);
    const { partial } = jobs.at(-1)!.result!.meta.memory;

    for (const { id, resident_bytes: resident, size_bytes: size } of promised.models[0]!.components) {
      const real = partial[id.split(':').at(-1)!]?.loaded_mb ?? size / MiB;
      expect(Math.abs(real - resident / MiB), `${id}: promised and done, MiB`).toBeLessThan(1);
    }

    // Back again.
    await page.getByTestId('nav-memory').click();
    await slider.focus();
    await page.keyboard.press('End');
    await expect(page.getByTestId('what-if-apply')).toHaveText('Apply');
    await page.getByTestId('what-if-apply').click();
    await expect(page.getByTestId('what-if-apply')).toBeDisabled();
    await expect.poll(async () => (await call(page, 'settings.get', {}))['compute.vram_limit_mb']).toBeNull();
    await page.getByTestId('what-if-mode').selectOption('none');
    await expect(page.getByTestId('outlook-component').first()).toHaveAttribute(
      'data-partial',
      'vram_mode none',
    );
    await page.getByTestId('what-if-back').click();
    await expect(page.getByTestId('what-if-mode')).toHaveValue('auto');
  });
});

test('the timeline tells what happened, by pointer and by keys, and is exported whole', async () => {
  await withStudio({}, async ({ page, evaluate, home }) => {
    await page.getByTestId('nav-memory').click();
    await expect(page.getByTestId('timeline-empty')).toBeVisible();
    await expect(page.getByTestId('what-if-empty')).toBeVisible();
    await picture(page, 'memory-empty');
    await page.getByTestId('nav-generate').click();
    await spokenOn(page, 7, 2);
    const chart = page.getByTestId('timeline-chart');
    const readout = page.getByTestId('timeline-readout');
    await expect(page.getByTestId('timeline-event').first()).toBeVisible();
    await expect(readout).toContainText('arrow keys');
    await chart.focus();
    await page.keyboard.press('Home');
    await expect(readout).toContainText('was read from disk');
    const first = await readout.textContent();
    await page.keyboard.press('ArrowRight');
    await expect(readout).not.toHaveText(first!);
    await expect(chart).toHaveAttribute('aria-valuetext', (await readout.textContent())!);
    await page.keyboard.press('Escape');
    await expect(readout).toContainText('arrow keys');
    // At the right edge is now: nothing has happened there, and something is held.
    await chart.scrollIntoViewIfNeeded();
    const box = (await chart.boundingBox())!;
    await page.mouse.move(box.x + box.width - 30, box.y + box.height / 2);
    await expect(readout).toContainText(/held|:/);
    await page.getByText('By component').click();
    await expect(page.getByText('Mizuoto Mini · acoustic', { exact: true }).last()).toBeVisible();
    await page.getByTestId('timeline-event').last().click();
    await expect(readout).toHaveAttribute('data-event', /.+/);

    const target = join(home, '内存 trace.json');
    await evaluate(({ dialog }, path) => {
      dialog.showSaveDialog = (async () => ({ canceled: false, filePath: path })) as never;
    }, target);
    await page.getByTestId('export-trace').click();
    await expect(page.getByTestId('notice-saved')).toContainText('trace.json');
    const trace = JSON.parse(readFileSync(target, 'utf8')) as {
      version: number;
      events: unknown[];
      plans: unknown[];
    };
    expect(trace.version).toBe(1);
    expect(trace.events.length).toBeGreaterThan(5);
    expect(trace.plans.length).toBeGreaterThan(0);
    // What is on the screen stays up to date.
    const count = await page.getByTestId('timeline-event').count();
    await page.getByTestId('unload').click();
    await expect.poll(() => page.getByTestId('timeline-event').count()).toBeGreaterThan(count);
    await expect(page.getByTestId('timeline-event').first()).toContainText('was unloaded');
  });
});

for (const [locale, theme, width] of [
  ['en-US', 'light', 1280],
  ['zh-CN', 'dark', 1280],
  ['zh-CN', 'light', 720],
  ['en-US', 'dark', 720],
] as const) {
  test(`memory in ${locale}, ${theme}, ${width} px wide: in its language, accessible, nothing cut off`, async () => {
    await withStudio({ locale, theme, size: { width, height: 860 } }, async ({ page }) => {
      await spokenOn(page, 7);
      await expect(page.getByTestId('outlook')).toHaveCount(1);
      const slider = page.getByTestId('what-if-slider');
      await slider.focus();
      for (let step = 0; step < 1; step++) await page.keyboard.press('ArrowLeft');
      await expect(page.getByTestId('what-if-limit')).toContainText('6 MB');
      const chart = page.getByTestId('timeline-chart');
      await chart.focus();
      await page.keyboard.press('End');
      await expect(page.getByTestId('timeline-readout')).not.toHaveAttribute('data-event', '');
      const words = (await page.getByTestId('screen-memory').textContent())!;
      if (locale === 'zh-CN') {
        for (const word of ['显存上限', '最小工作集', '让出显存', '流式加载', '部分加载', '校准', '时间线'])
          expect(words).toContain(word);
        // Sentences are in the language of the window, those of the host too.
        expect(words).not.toMatch(/\b(because|units|working memory|is set|streams?)\b/);
      }
      await expectAccessible(page);
      const wide = await page
        .getByTestId('screen-memory')
        .evaluate((element) => element.scrollWidth - element.clientWidth);
      expect(wide, 'nothing is wider than the window').toBeLessThanOrEqual(0);
      await picture(page, `memory-${locale}-${theme}-${width}`);
    });
  });
}

test('notes on a result are in the language of the window', async () => {
  await withStudio({ locale: 'zh-CN' }, async ({ page }) => {
    await page.getByTestId('script').fill(`${text} One sign 水 is not English.`);
    await page.getByTestId('generate').click();
    await expect(page.getByTestId('result')).toHaveCount(1);
    await expect(page.getByTestId('result')).toContainText('跳过了它不会读的 1 个字符（中文）');
    await page.getByTestId('nav-memory').click();
    await expect(page.getByTestId('device').first()).toContainText(/没有独立显卡|显存最大的独立显卡/);
  });
});

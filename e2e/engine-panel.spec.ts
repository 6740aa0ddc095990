import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { encodeWav } from '../main/audio/wav.ts';
import { artificialReference } from '../main/engines/plain-task.ts';
import { call, expectAccessible, picture, withStudio } from './scene.ts';
import { root } from './studio.ts';

const tiny = join(root, 'main', 'engines', 'qwen3-tts', 'fixtures', 'tiny');

const customVoice = 'qwen3-tts:1.7b-custom-voice';
const voiceDesign = 'qwen3-tts:1.7b-voice-design';

test('an engine with several models shows what each can do, and speaks so', async () => {
  // Three tiny models are read and two speak, beside whatever else this machine does.
  test.setTimeout(240_000);
  const home = mkdtempSync(join(tmpdir(), 'mizuoto-e2e-'));
  try {
    await withStudio({ home, size: { width: 1280, height: 1000 } }, async ({ page }) => {
      const engine = page.getByTestId('engine');
      await expect(page.getByTestId('voice')).toBeVisible();
      await expect(engine, 'one engine is no choice').toHaveCount(0);
      await call(page, 'settings.set', { patch: { 'compute.threads': 1 } });
      for (const kind of ['custom_voice', 'voice_design', 'base']) {
        await call(page, 'models.add', { path: join(tiny, kind) });
      }
      // The window learns of new models without a restart.
      await engine.selectOption('qwen3-tts');
      const model = page.getByTestId('model-select');
      await model.selectOption(customVoice);
      await page.getByTestId('voice').selectOption('ryan');
      await expect(page.getByTestId('language').locator('option').first()).toHaveText('Detect from the text');
      await page.getByTestId('language').selectOption({ label: 'English' });
      await page.getByTestId('instruct').fill('Softly and slowly.');
      const more = page.getByTestId('more');
      await more.locator('summary').click();
      const temperature = more.getByRole('textbox', { name: 'Temperature', exact: true });
      await temperature.fill('0.7');
      await temperature.press('Enter');
      await expect(more.locator('summary')).toContainText('1 changed');
      const seed = page.getByTestId('seed').getByRole('textbox');
      await seed.fill('3');
      await seed.press('Enter');
      await page.getByTestId('script').fill('hello.');
      await picture(page, 'engine-speakers-en.png');
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: 'dark' });
      await picture(page, 'engine-speakers-en-dark.png');
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.getByTestId('generate').click();
      await expect(page.getByTestId('result')).toHaveCount(1, { timeout: 60_000 });
      await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
      await expect(page.getByTestId('error-card')).toHaveCount(0);
      // It is loaded now: the button knows this model from its sisters.
      await expect(page.getByTestId('generate')).toHaveAttribute('data-plan', 'generate');
      const { jobs } = await call(page, 'jobs.list', {});
      expect(jobs).toMatchObject([
        {
          model: customVoice,
          state: 'finished',
          result: { voice: 'ryan', applied: { language: 'en', temperature: 0.7 } },
        },
      ]);

      await model.selectOption(voiceDesign);
      await expect(page.getByTestId('voice')).toHaveCount(0);
      await expect(page.getByTestId('instruct'), 'how to speak is not who speaks').toHaveValue('');
      await expect(page.getByTestId('generate')).toBeDisabled();
      await expect(page.getByTestId('generate')).toHaveText('Describe the voice first');
      await picture(page, 'engine-design-en.png');
      await expectAccessible(page);
      await page.getByTestId('instruct').fill('An old king.');
      await expect(page.getByTestId('generate')).toBeEnabled();

      await model.selectOption('qwen3-tts:1.7b-base');
      await expect(page.getByTestId('voices-hint')).toContainText('mizuoto voices add');
      await expect(page.getByTestId('generate')).toHaveText('Add a voice first');
      await picture(page, 'engine-clone-en.png');
      await expectAccessible(page);

      const { samples, sampleRate } = artificialReference();
      const { bytes } = encodeWav([samples.subarray(0, 2 * sampleRate)], { sampleRate });
      const audio = Buffer.from(bytes).toString('base64');
      await call(page, 'voices.add', { name: 'Grandfather', audio, language: 'en' });
      await expect(page.getByTestId('voices-hint')).toHaveCount(0);
      await expect(page.getByTestId('voice').locator('optgroup')).toHaveAttribute('label', 'My voices');
      await expect(page.getByTestId('voice')).toHaveValue('saved:grandfather');
      await page.getByTestId('voice').click();
      await picture(page, 'engine-voices-en.png');
      await page.keyboard.press('Escape');
      await page.getByTestId('generate').click();
      await expect(page.getByTestId('result')).toHaveCount(2, { timeout: 60_000 });
      await expect(page.getByTestId('progress')).toHaveCount(0, { timeout: 60_000 });
      await expect(page.getByTestId('result').first()).toContainText('Grandfather');
    });

    await withStudio(
      { home, locale: 'zh-CN', theme: 'dark', size: { width: 1280, height: 1000 } },
      async ({ page }) => {
        await page.getByTestId('script').fill('hello.');
        await page.getByTestId('engine').selectOption('qwen3-tts');
        const model = page.getByTestId('model-select');
        await model.selectOption(customVoice);
        await page.getByTestId('voice').selectOption('eric');
        await expect(page.getByTestId('language').locator('option').first()).toHaveText('根据文字自动识别');
        await page.getByTestId('more').locator('summary').click();
        await picture(page, 'engine-speakers-zh.png');
        await expectAccessible(page);
        await model.selectOption(voiceDesign);
        await page.getByTestId('instruct').fill('');
        await expect(page.getByTestId('generate')).toHaveText('请先描述音色');
        await picture(page, 'engine-design-zh.png');
        await model.selectOption('qwen3-tts:1.7b-base');
        await expect(page.getByTestId('voice').locator('optgroup')).toHaveAttribute('label', '我的音色');
        await picture(page, 'engine-clone-zh.png');
        await expectAccessible(page);
        await page.emulateMedia({ colorScheme: 'light' });
        await picture(page, 'engine-clone-zh-light.png');
        await expectAccessible(page);
      },
    );
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
});

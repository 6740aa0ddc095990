import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page, test } from '@playwright/test';
import type { CallInput, CallName, CallResponse } from '../main/contract/index.ts';
import { type LaunchOptions, launchStudio, root, type Studio } from './studio.ts';

/** Where pictures of the screens go. */
export const artifacts = join(root, 'e2e', 'artifacts');
mkdirSync(artifacts, { recursive: true });

/** A studio for the time of `body`, whose console must stay free of errors; a picture is taken where it fails. */
export async function withStudio(
  options: LaunchOptions,
  body: (studio: Studio) => Promise<void>,
): Promise<void> {
  const studio = await launchStudio(options);
  test.info().annotations.push({ type: 'shell', description: studio.kind });
  try {
    await body(studio);
    expect(studio.complaints, 'the console is free of errors').toEqual([]);
  } catch (error) {
    const name = `${basename(test.info().file, '.spec.ts')}-failure.png`;
    await studio.page.screenshot({ path: join(artifacts, name) }).catch(() => undefined);
    throw error;
  } finally {
    await studio.close();
  }
}

/** A call of the page's own bridge. */
export function call<N extends CallName>(
  page: Page,
  name: N,
  request: CallInput<N>,
): Promise<CallResponse<N>> {
  return page.evaluate(
    ([callName, input]) =>
      (
        window as unknown as { mizuoto: { call(name: string, request: unknown): Promise<unknown> } }
      ).mizuoto.call(callName as string, input),
    [name, request] as const,
  ) as Promise<CallResponse<N>>;
}

/** Colours that still change would be pictured, and judged, half way. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter((one) => one instanceof CSSTransition)
        .map((one) => one.finished),
    ),
  );
  await page.screenshot({ path: join(artifacts, name) });
}

export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`)).toEqual([]);
}

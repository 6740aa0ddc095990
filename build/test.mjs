/**
 * Every test there is, in the order in which failures are cheapest to read:
 * static checks, C++ tests and fuzzing, unit and parity tests, windows (Playwright).
 *   npm test                 all of it
 *   npm test -- unit         one or more parts: check, native, unit, e2e
 */
import { join } from 'node:path';
import { check } from './check.mjs';
import { foreground, main, root, say } from './lib/run.mjs';
import { ensureSetup } from './setup.mjs';

const node = process.execPath;
const module = (path) => join(root, 'node_modules', path);

const parts = {
  check: async () => ((await check()).length === 0 ? 0 : 1),
  native: () => foreground(node, [join(root, 'build', 'native-tests.mjs')]),
  unit: (rest) =>
    foreground(node, [module('vitest/vitest.mjs'), 'run', '--root', root, ...rest], withVulkan()),
  e2e: async (rest) => {
    const { ensureStandIn } = await import('./bundle.mjs');
    await ensureStandIn();
    const config = join(root, 'e2e', 'playwright.config.ts');
    return foreground(node, [module('@playwright/test/cli.js'), 'test', '--config', config, ...rest]);
  },
};

/** ggml passes over software Vulkan devices unless they are asked for by number. */
function withVulkan() {
  return { ...process.env, GGML_VK_VISIBLE_DEVICES: process.env.GGML_VK_VISIBLE_DEVICES ?? '0' };
}

main(async () => {
  process.chdir(root);
  const wanted = process.argv.slice(2).filter((name) => name in parts);
  const rest = process.argv.slice(2).filter((name) => !(name in parts));
  await ensureSetup();
  const names = wanted.length > 0 ? wanted : Object.keys(parts);
  const results = [];
  for (const name of names) {
    say(`--- ${name}`);
    results.push([name, await parts[name](wanted.length === 1 ? rest : [])]);
  }
  const failed = results.filter(([, code]) => code !== 0);
  for (const [name, code] of results) say(`${code === 0 ? 'passed' : 'FAILED'}: ${name}`);
  process.stdout.write(`${results.length - failed.length} passed, ${failed.length} failed\n`);
  return failed.length === 0 ? 0 : 1;
});

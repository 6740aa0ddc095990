import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runDeviceTask } from '../main/host/isolated/run-task.ts';
import { bundleForTest, type TestBundle } from '../main/host/testing/bundle.ts';
import { startUtilityProcess } from './utility-process.ts';

vi.mock('electron', () => import('../e2e/stand-in/utility-process.ts'));

let bundle: TestBundle;
let folder: string;
beforeAll(async () => {
  bundle = await bundleForTest(['device-process']);
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-utility-'));
});
afterAll(() => {
  bundle.remove();
  rmSync(folder, { recursive: true, force: true });
});

it('tests a device in a utility process', async () => {
  const start = () => startUtilityProcess(bundle.path('device-process'));
  const result = await runDeviceTask(start, { kind: 'self-test', device: 'CPU' });
  expect(result).toMatchObject({ device: 'CPU', passed: true });
});

it('a driver that crashes in it is reported with its exit code', async () => {
  const path = join(folder, 'crash.mjs');
  writeFileSync(path, `process.parentPort.on('message', () => process.kill(process.pid, 'SIGSEGV'));`);
  const outcome = runDeviceTask(() => startUtilityProcess(path), { kind: 'self-test', device: 'Vulkan9' });
  await expect(outcome).rejects.toMatchObject({
    code: 'device_lost',
    params: { device: 'Vulkan9', how: 'exit code 11', step: 'starting' },
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleForTest, type TestBundle } from '../host/testing/bundle.ts';

let bundle: TestBundle;
let folder: string;

beforeAll(async () => {
  bundle = await bundleForTest(['studio-server', 'host-worker', 'engine-process']);
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-start-'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>studio</title>');
});
afterAll(() => {
  bundle.remove();
  rmSync(folder, { recursive: true, force: true });
});

function start(...args: string[]) {
  const child = spawn(process.execPath, [bundle.path('studio-server'), ...args], {
    env: { ...process.env, MIZUOTO_HOME: join(folder, 'home'), MIZUOTO_TEST_ENGINES: '1', DISPLAY: '' },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => {
    stdout += text;
  });
  child.stderr.on('data', (text: Buffer) => {
    stderr += text;
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  return { child: child as ChildProcess, ended, stdout: () => stdout, stderr: () => stderr };
}

describe('the served studio', () => {
  it('prints an address that works, and ends with Ctrl-C', async () => {
    const run = start('--no-open', '--port', '0', '--renderer', folder);
    await expect.poll(run.stdout, { timeout: 20_000 }).toMatch(/#token=\w+\n[^\n]+\n/);
    const [, origin, token] = /Mizuoto Studio: (http:\/\/127\.0\.0\.1:\d+)\/#token=([0-9a-f]{64})\n/.exec(
      run.stdout(),
    )!;
    expect(await (await fetch(`${origin}/`)).text()).toContain('studio');
    const answer = await fetch(`${origin}/studio/call/engines.list`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{}',
    });
    expect(((await answer.json()) as { engines: { id: string }[] }).engines[0]?.id).toBe('tone');
    const state = await fetch(`${origin}/api/v1/runtime`, { headers: { authorization: `Bearer ${token}` } });
    expect(await state.json()).toMatchObject({ models: [], versions: { mizuoto: expect.any(String) } });
    const page = await fetch(`${origin}/studio/events`, { headers: { authorization: `Bearer ${token}` } });
    const closed = page.body!.getReader().closed.catch(() => {});
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(0);
    await closed;
    expect(run.stderr()).toBe('');
  });

  it('ends at the first Ctrl-C though an engine does not heed it, at the second at once', async () => {
    const speaking = async () => {
      const run = start('--no-open', '--port', '0', '--renderer', folder);
      await expect.poll(run.stdout, { timeout: 20_000 }).toMatch(/#token=\w+\n[^\n]+\n/);
      const [, origin, token] = /Mizuoto Studio: (http:\/\/127\.0\.0\.1:\d+)\/#token=([0-9a-f]{64})\n/.exec(
        run.stdout(),
      )!;
      const answer = await fetch(`${origin}/studio/call/speak`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ engine: 'tone', voice: 'numb', text: 'One. Two.' }),
      });
      expect(answer.status).toBe(200);
      return run;
    };
    const hurried = await speaking();
    // At once: after two seconds the first Ctrl-C ends it by itself.
    let said = '';
    hurried.child.stdout?.on('data', (piece: Buffer) => {
      const before = said;
      said += String(piece);
      const closing = /Closing the studio/;
      if (closing.test(said) && !closing.test(before)) hurried.child.kill('SIGINT');
    });
    hurried.child.kill('SIGINT');
    expect(await hurried.ended).toBe(130);
    const patient = await speaking();
    patient.child.kill('SIGINT');
    expect(await patient.ended).toBe(0);
  }, 90_000);

  it('says what is wrong with its options or its page', async () => {
    const bad = start('--prot', '1');
    expect(await bad.ended).toBe(2);
    expect(bad.stderr()).toMatch(/^mizuoto: .*--prot.*--port N.* \(invalid_request\)\n$/);
    const port = start('--port', '70000');
    expect(await port.ended).toBe(2);
    const missing = start('--no-open', '--renderer', join(folder, 'none'));
    expect(await missing.ended).toBe(4);
    expect(missing.stderr()).toContain('npm run setup');
  });
});

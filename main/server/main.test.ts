import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorBody } from '../contract/index.ts';
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

const start = (...args: string[]) => startIn('en_US.UTF-8', args);

function startIn(locale: string, args: string[], home = join(folder, 'home')) {
  const child = spawn(process.execPath, [bundle.path('studio-server'), ...args], {
    env: {
      ...process.env,
      MIZUOTO_HOME: home,
      MIZUOTO_TEST_ENGINES: '1',
      DISPLAY: '',
      LC_ALL: locale,
    },
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

  it('speaks Chinese where the locale does, and to whoever asks for it, warnings of its files included', async () => {
    const home = join(folder, 'home-zh');
    mkdirSync(home);
    writeFileSync(join(home, 'settings.json'), '{"compute.vram_mod": "low"}');
    const run = startIn('zh_CN.UTF-8', ['--no-open', '--port', '0', '--renderer', folder], home);
    await expect.poll(run.stdout, { timeout: 20_000 }).toContain('只有本机可以打开。按 Ctrl-C 结束。');
    await expect
      .poll(run.stderr, { timeout: 20_000 })
      .toContain(`mizuoto: 警告：${join(home, 'settings.json')}：compute.vram_mod 不是设置项`);
    const [, origin, token] = /Mizuoto Studio: (\S+)\/#token=([0-9a-f]{64})\n/.exec(run.stdout())!;
    const asked = (path: string, language: string, init: RequestInit = {}) =>
      fetch(`${origin}${path}`, {
        ...init,
        headers: { 'accept-language': language, authorization: `Bearer ${token}`, ...init.headers },
      });
    const refused = await asked('/api/v1/nothing', 'zh-CN,zh;q=0.9,en;q=0.8');
    expect(refused.headers.get('content-language')).toBe('zh-CN');
    expect(await refused.json()).toMatchObject({ error: { message: '这里什么也没有。' } });
    expect(await (await asked('/api/v1/nothing', 'en-GB, zh;q=0.5')).json()).toMatchObject({
      error: { message: 'There is nothing here.' },
    });
    const speak = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"engine":"no","text":"Hi."}',
    };
    const unknown = (await (await asked('/studio/call/speak', 'zh', speak)).json()) as { error: ErrorBody };
    expect(unknown.error).toMatchObject({ code: 'unknown_engine', params: { engine: 'no' } });
    expect(unknown.error.message).toMatch(/^没有名为“no”的引擎/);
    expect(await (await asked('/nothing.js', 'zh')).text()).toBe('没有这个文件。\n');
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(0);
    expect(run.stdout()).toContain('正在关闭 Mizuoto');
    const bad = startIn('zh_CN.UTF-8', ['--prot', '1']);
    expect(await bad.ended).toBe(2);
    expect(bad.stderr()).toMatch(/^mizuoto: 没有选项“--prot”.*--renderer 文件夹。 \(invalid_request\)\n$/);
  });

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

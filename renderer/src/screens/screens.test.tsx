import { Tooltip } from 'radix-ui';
import type { ReactElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { I18nextProvider } from 'react-i18next';
import { describe, expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import type { ComponentSnapshot } from '../../../main/contract/runtime.ts';
import { say } from '../../../main/contract/said.ts';
import type { partialReasonSchema } from '../../../main/contract/speech.ts';
import {
  fakeEngine,
  fakeJob,
  fakeQwen,
  fakeResult,
  fakeSavedVoice,
  fakeSnapshot,
  partialSnapshot,
  wholly,
} from '../bridge/fake-data.ts';
import { smallSnapshot, unifiedSnapshot } from '../bridge/fake-devices.ts';
import { createI18n } from '../i18n/index.ts';
import { Player } from '../shell/Player.tsx';
import { TopBar } from '../shell/TopBar.tsx';
import { chooseModel, editDraft, generate, setParameter } from '../store/commands.ts';
import type { Language } from '../store/settings.ts';
import type { Studio } from '../store/studio.ts';
import { testStudio } from '../testing/studio.ts';
import { StudioContext } from '../ui/studio-context.ts';
import { GenerateScreen } from './generate/GenerateScreen.tsx';
import { MemoryScreen } from './memory/MemoryScreen.tsx';

const languages: Language[] = ['en', 'zh-CN'];

function render(studio: Studio, language: Language, element: ReactElement): string {
  // A server-side render takes a store's first state: here it is to take the present one.
  Object.assign(studio.store, { getInitialState: studio.store.getState });
  return renderToStaticMarkup(
    <I18nextProvider i18n={createI18n(language)}>
      <StudioContext value={studio}>
        <Tooltip.Provider>{element}</Tooltip.Provider>
      </StudioContext>
    </I18nextProvider>,
  );
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };
const words = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => entities[name]!)
    .replace(/\s+/g, ' ');

/** A key that has no sentence is shown as it is; a name that is not filled in keeps its braces. */
function expectFinished(html: string): void {
  expect(html).not.toMatch(/\{\{|\}\}|undefined|NaN|\[object/);
  expect(words(html)).not.toMatch(
    /\b(nav|actions|connection|device|script|voice|generate|progress|results|findings|player|notices|memory|error|errors)\.[a-z]/,
  );
  for (const [, attributes, content] of html.matchAll(/<button([^>]*)>(.*?)<\/button>/g)) {
    const name = /aria-label="([^"]+)"/.exec(attributes!)?.[1] ?? words(content!).trim();
    expect(name, `a button without a name: ${attributes}`).not.toBe('');
  }
}

describe.each(languages)('the Memory screen in %s', (language) => {
  it('tells a full graphics card in words and numbers', async () => {
    const { studio, host } = await testStudio();
    host.emit('runtime.changed', partialSnapshot());
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    const text = words(html);
    for (const part of language === 'en'
      ? [
          'Partly loaded',
          'Streaming copies 410 MB',
          'Kept in reserve 512 MB',
          'Calibrated, 3 runs',
          '11 of 28 resident',
        ]
      : ['部分加载', '流式加载缓冲 410 MB', '预留 512 MB', '已校准，3 次', '28 个中常驻 11 个']) {
      expect(text).toContain(part);
    }
    expect(text).toContain(
      language === 'en'
        ? 'talker: 1.7 GB of 3.4 GB fit. Of 3.3 GB free, 1.1 GB are kept for working memory and 512 MB in reserve.'
        : 'talker：3.4 GB 中放下了 1.7 GB。可用 3.3 GB，其中 1.1 GB 留给工作内存，512 MB 作为预留。',
    );
    // The bars say in words what they show.
    expect(html).toMatch(
      /role="progressbar"[^>]*aria-valuenow="63"[^>]*aria-valuetext="[^"]*2\.9 GB[^"]*4\.6 GB/,
    );
    // A model that loads shows its bytes, and is not called partly loaded.
    expect(text).toContain(
      language === 'en' ? '942 MB of 2.2 GB on RTX 4070' : 'RTX 4070 上有 942 MB / 2.2 GB',
    );
  });

  it('has a sentence for every reason', async () => {
    const reasons: (typeof partialReasonSchema.options)[number][] = [
      'budget',
      'vram_mode low',
      'vram_mode none',
      'capped after out of memory',
      'gave up for another component',
    ];
    const { studio, host } = await testStudio();
    const model = wholly();
    const components = reasons.map(
      (reason, index): ComponentSnapshot => ({
        ...model.components[0]!,
        name: `part${index}`,
        partial: {
          reason,
          mode: 'normal',
          free_mb: 100,
          working_mb: 20,
          reserve_mb: 30,
          loaded_mb: 50,
          size_mb: 90,
          gave_up_for: index === 4 ? 'codec' : null,
        },
      }),
    );
    host.emit('runtime.changed', fakeSnapshot({ models: [{ ...model, loaded_bytes: 100, components }] }));
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    const told = [...html.matchAll(/data-reason="([^"]+)".*?<\/p>/g)];
    expect(told.map((match) => match[1])).toEqual(reasons);
    for (const [index, match] of told.entries()) {
      expect(words(match[0])).toContain(`part${index}`);
      expect(words(match[0])).toContain('50 MB');
    }
    expect(words(told[4]![0])).toContain('codec');
  });

  it('says what is in force on the device that is used where it is not what is set', async () => {
    const { studio, host } = await testStudio();
    host.emit('runtime.changed', smallSnapshot());
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    const notes = [...html.matchAll(/data-testid="policy-note" data-code="([^"]+)"/g)];
    expect(notes.map(([, code]) => code)).toEqual(['policy_reserve']);
    expect(words(html)).toMatch(
      language === 'en' ? /1\.8 GB .* of GTX 1050 is kept free: 461 MB/ : /GTX 1050 .*461 MB/,
    );
    // What gave way for its own model's component needs no model's name.
    expect(words(html)).not.toContain('Qwen3-TTS 1.7B · talker');
  });

  it('says what shares main memory, and what is used there without a copy', async () => {
    const { studio, host } = await testStudio();
    host.emit('runtime.changed', unifiedSnapshot());
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    const said = words(html);
    expect(said).toContain(language === 'en' ? 'shares main memory' : '与主内存共用');
    expect(said).toMatch(language === 'en' ? /Used in place 4\.5 GB/ : /就地使用 ?4\.5 GB/);
    expect(html).toContain('data-code="policy_auto_unified"');
  });

  it('teaches while nothing is loaded, and keeps what an unload gave back', async () => {
    const { studio } = await testStudio();
    studio.store.setState({ modelFreed: { mini: 30_900_000 } });
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    expect(html).toContain('data-testid="memory-empty"');
    expect(words(html)).toContain(language === 'en' ? '29.5 MB freed, measured' : '实测释放 29.5 MB');
  });

  it('tells of a device that was lost, before everything else', async () => {
    const { studio } = await testStudio();
    const snapshot = partialSnapshot();
    const told = (code: 'device_replaced' | 'device_given_up', minute: number) => ({
      at: new Date(2026, 1, 3, 14, minute).getTime(),
      said: say(code, { device: snapshot.devices[0]!.id, times: 3, minutes: 10 }),
    });
    const incidents = [told('device_given_up', 7), told('device_replaced', 5)];
    studio.store.setState({ runtime: { ...snapshot, incidents } });
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    expect(html.indexOf('data-testid="incident"')).toBeLessThan(html.indexOf('data-testid="device"'));
    expect(words(html)).toContain(
      language === 'en' ? 'was lost 3 times within 10 minutes' : '10 分钟内失去响应 3 次',
    );
    expect(words(html)).toContain(
      language === 'en' ? 'started again in a fresh process' : '引擎已在新进程中重新启动',
    );
    studio.store.setState({ runtime: snapshot });
    expect(render(studio, language, <MemoryScreen />)).not.toContain('data-testid="incident"');
  });

  it('says what a model that failed to load needs', async () => {
    const { studio } = await testStudio();
    const error = new StudioError('checkpoint_invalid', 'Damaged.', {
      params: { path: '/models/a.safetensors' },
    });
    studio.store.setState({ modelError: { mini: error.toBody() } });
    const html = render(studio, language, <MemoryScreen />);
    expectFinished(html);
    expect(html).toContain('data-code="checkpoint_invalid"');
    expect(words(html)).toContain('/models/a.safetensors');
  });
});

describe.each(languages)('the Generate screen in %s', (language) => {
  const screen = (
    <>
      <TopBar />
      <GenerateScreen />
      <Player />
    </>
  );

  it('is finished while empty', async () => {
    const { studio } = await testStudio();
    const html = render(studio, language, screen);
    expectFinished(html);
    expect(html).toMatch(/data-testid="generate"[^>]*data-plan="no_text"[^>]*disabled=""/);
    expect(words(html)).toContain(
      language === 'en' ? 'CPU · 21.3 of 23.4 GB free' : 'CPU · 可用 21.3 / 23.4 GB',
    );
  });

  it('shows of the built-in engine what it has, and nothing else', async () => {
    const { studio } = await testStudio();
    const html = render(studio, language, screen);
    for (const absent of ['engine', 'model-select', 'language', 'instruct', 'more']) {
      expect(html).not.toContain(`data-testid="${absent}"`);
    }
    expect(html).not.toContain('<optgroup');
  });

  it('shows speakers, languages, how to speak and the parameters of an engine that has them', async () => {
    const { studio } = await testStudio();
    studio.store.setState({ engines: [fakeEngine, fakeQwen] });
    chooseModel(studio, 'qwen3-tts', null);
    editDraft(studio, { voice: 'ryan', instruct: 'x'.repeat(41), text: 'Hello.' });
    setParameter(studio, 'temperature', 0.7);
    const html = render(studio, language, screen);
    expectFinished(html);
    const text = words(html);
    for (const part of language === 'en'
      ? [
          'Qwen3-TTS design',
          'Ryan · English',
          'A man; dynamic',
          'Detect from the text',
          'How to speak',
          '41 of 40 characters',
          'Shorten the instruction',
          '1 changed',
          'Temperature',
          'Whole text first',
          'own_knob',
          'Only this engine has it.',
        ]
      : [
          'Qwen3-TTS design',
          'Ryan · 英语',
          '男声，富有活力',
          '根据文字自动识别',
          '说话方式',
          '41 / 40 个字符',
          '请缩短指示文字',
          '已更改 1 项',
          '温度',
          '先读完全文',
          'own_knob',
        ]) {
      expect(text).toContain(part);
    }
    expect(html).toMatch(/<textarea[^>]*data-testid="instruct"[^>]*aria-invalid="true"/);
    // The engine's own words about a speaker are English.
    editDraft(studio, { voice: 'nora' });
    const nora = words(render(studio, language, screen));
    if (language === 'en') expect(nora).toContain('Only this checkpoint has her.');
    else expect(nora).not.toContain('Only this checkpoint has her.');
  });

  it('asks for the description of a voice, and for a voice to clone', async () => {
    const { studio } = await testStudio();
    studio.store.setState({ engines: [fakeEngine, fakeQwen] });
    editDraft(studio, { text: 'Hello.' });
    chooseModel(studio, 'qwen3-tts', 'qwen3-tts:design');
    const described = render(studio, language, screen);
    expectFinished(described);
    expect(described).not.toContain('data-testid="voice"');
    expect(described).toMatch(/<textarea[^>]*required=""/);
    expect(described).toMatch(/data-testid="generate"[^>]*data-plan="no_description"[^>]*disabled=""/);
    expect(words(described)).toContain(language === 'en' ? 'Describe the voice first' : '请先描述音色');

    chooseModel(studio, 'qwen3-tts', 'qwen3-tts:base');
    const lacking = render(studio, language, screen);
    expectFinished(lacking);
    expect(words(lacking)).toContain(language === 'en' ? 'Add a voice first' : '请先添加音色');
    expect(words(lacking)).toContain('mizuoto voices add');
    studio.store.setState({ savedVoices: [fakeSavedVoice()] });
    const cloning = render(studio, language, screen);
    expectFinished(cloning);
    expect(cloning).toContain(`<optgroup label="${language === 'en' ? 'My voices' : '我的音色'}">`);
    expect(cloning).toContain('value="saved:me"');
    expect(words(cloning)).not.toContain('mizuoto voices add');
  });

  it('tells the stage, the chunk and the time of a running job, and offers the queue', async () => {
    const { studio, host } = await testStudio();
    editDraft(studio, { text: 'One. Two. Three.' });
    await generate(studio);
    host.emit('job.progress', {
      job_id: 'job-1',
      state: 'running',
      stage: 'vocoder',
      fraction: 0.4,
      chunks_done: 1,
      chunks_total: 3,
      elapsed_seconds: 3,
      remaining_seconds: 5,
    });
    const html = render(studio, language, screen);
    expectFinished(html);
    const text = words(html);
    for (const part of language === 'en'
      ? ['Forming the sound · Chunk 2 of 3', '3 sec elapsed', '≈ 5 sec left', 'Add to queue', 'Stop']
      : ['合成声音 · 第 2 段，共 3 段', '已用 3秒', '约剩 5秒', '加入队列', '停止']) {
      expect(text).toContain(part);
    }
    expect(html).toMatch(/role="progressbar"[^>]*aria-valuenow="40"/);
  });

  it('shows loading by bytes and waiting by position', async () => {
    const { studio, host } = await testStudio();
    host.emit('job.queued', fakeJob({ job_id: 'a', state: 'loading' }));
    host.emit('job.queued', fakeJob({ job_id: 'b' }));
    const model = { ...wholly(), state: 'loading' as const, loaded_bytes: 4_194_304, size_bytes: 8_388_608 };
    host.emit('runtime.changed', fakeSnapshot({ models: [model] }));
    const html = render(studio, language, screen);
    expectFinished(html);
    expect(words(html)).toContain(
      language === 'en' ? 'Loading the model: 4 MB of 8 MB' : '正在加载模型：4 MB / 8 MB',
    );
    expect(words(html)).toContain(
      language === 'en' ? 'Waiting: 1 job before it' : '等待中：前面还有 1 个任务',
    );
  });

  it('tells results, findings and failures', async () => {
    const { studio, host } = await testStudio();
    const queue = (job_id: string, text_preview: string) =>
      host.emit('job.queued', fakeJob({ job_id, text_preview, created_at: 1 }));
    queue('good', 'A good one');
    host.emit('job.audio', {
      job_id: 'good',
      index: 0,
      sample_rate: 1000,
      start: 0,
      samples: new Float32Array(8000),
      text: '',
    });
    host.emit('job.finished', {
      job_id: 'good',
      result: fakeResult({
        warnings: [say('text_undecodable', { count: 2 })],
        applied: { speed: 1.25, pitch: 1 },
      }),
    });
    queue('bad', 'A bad one');
    host.emit('job.failed', {
      job_id: 'bad',
      error: new StudioError('device_lost', 'Vulkan0 was lost.', { params: { device: 'Vulkan0' } }).toBody(),
    });
    queue('stopped', 'A stopped one');
    host.emit('job.cancelled', { job_id: 'stopped' });
    const html = render(studio, language, screen);
    expectFinished(html);
    expect(html).toContain('data-kind="all_silent"');
    expect(html).toContain('data-code="device_lost"');
    const text = words(html);
    for (const part of language === 'en'
      ? ['All silent', 'Speed 1.25×', '1 note', 'Stopped before any audio', 'The driver of Vulkan0 was reset']
      : ['全部无声', '语速 1.25×', '1 条提示', '已停止，没有生成音频', 'Vulkan0 的驱动程序被重置']) {
      expect(text).toContain(part);
    }
  });
});

describe('the page’s policy', () => {
  it('is not broken by parts that write inline style sheets', () => {
    const sources = import.meta.glob('../**/*.tsx', {
      query: '?raw',
      import: 'default',
      eager: true,
    }) as Record<string, string>;
    for (const [path, source] of Object.entries(sources)) {
      if (path.endsWith('.test.tsx')) continue;
      expect(source, path).not.toMatch(
        /\b(Select|ScrollArea|DropdownMenu|ContextMenu|Menubar)\b.*from 'radix-ui'/,
      );
      expect(source, path).not.toMatch(/Dialog\.Overlay|dangerouslySetInnerHTML|<style/);
    }
  });
});

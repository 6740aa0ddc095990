import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorSchema, modelCheckSchema, modelEntrySchema, savedVoiceSchema } from '../contract/index.ts';
import { bundleForTest } from '../host/testing/bundle.ts';
import { echoFolder } from '../host/testing/echo-folder.ts';
import { referenceWav } from '../host/testing/reference-wav.ts';
import { start } from './testing/process.ts';

let bundle: Awaited<ReturnType<typeof bundleForTest>>;
let folder: string;

const recordings = join(import.meta.dirname, '..', 'audio', 'compressed', 'fixtures');

beforeAll(async () => {
  bundle = await bundleForTest(['cli', 'host-worker']);
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-cli-'));
  writeFileSync(join(folder, 'anna.wav'), referenceWav(2));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const chinese = { LANG: 'zh_CN.UTF-8' };
async function mizuoto(args: string[], env: Record<string, string> = {}) {
  const { exit, stdout, stderr } = await start(bundle.path('cli'), args, { cwd: folder, env }).outcome;
  return { exit, stdout: stdout.toString(), stderr };
}
async function json(args: string[]) {
  const { exit, stdout } = await mizuoto([...args, '--json']);
  return { exit, body: JSON.parse(stdout) };
}

describe('mizuoto models', () => {
  it('lists, adds, checks and removes, as a table and as JSON', async () => {
    const model = echoFolder(folder, '我的 model');
    const before = await mizuoto(['models']);
    expect(before).toMatchObject({ exit: 0, stderr: '' });
    expect(before.stdout).toMatch(/MODEL +STATE +SIZE +LICENCE +WHERE/);
    expect(before.stdout).toMatch(
      /echo:folder +not installed +10 B +Apache-2\.0 +https:\/\/huggingface\.co\/mizuoto\/echo-folder/,
    );
    expect(before.stdout).toMatch(/mizuoto models add FOLDER/);

    const added = await mizuoto(['models', 'add', '我的 model']);
    expect(added).toMatchObject({ exit: 0, stderr: '' });
    expect(added.stdout).toBe(
      `Echo folder is installed as echo:folder: 27 B in ${model}, which is used where it lies.\n`,
    );
    const { body } = await json(['models', 'list']);
    expect(body.models.map((entry: unknown) => modelEntrySchema.parse(entry))).toMatchObject([
      { id: 'echo:folder', state: 'installed', folder: model },
    ]);

    const checked = await mizuoto(['models', 'check', 'echo:folder']);
    expect(checked).toMatchObject({ exit: 0 });
    expect(checked.stdout).toMatch(/model\.safetensors +ok, same hash +10 B/);
    writeFileSync(join(model, 'model.safetensors'), 'version https://git-lfs.github.com/spec/v1\n');
    const broken = await json(['models', 'check', 'echo:folder']);
    expect(broken.exit).toBe(11);
    expect(modelCheckSchema.parse(broken.body)).toMatchObject({
      ok: false,
      files: [{}, { state: 'damaged' }],
    });
    expect((await mizuoto(['models'])).stdout).toMatch(/echo:folder +DAMAGED[\s\S]+Git LFS pointer/);

    expect((await mizuoto(['models', 'remove', 'echo:folder'])).stdout).toBe(
      `echo:folder is forgotten. Its files stay in ${model}.\n`,
    );
    expect(readdirSync(model).sort()).toEqual(['config.json', 'model.safetensors']);
  });

  it('speaks Chinese where the terminal does', async () => {
    const model = echoFolder(folder, 'm');
    expect((await mizuoto(['models'], chinese)).stdout).toMatch(/echo:folder +未安装/);
    expect((await mizuoto(['models', 'add', 'm', '--name', '小明'], chinese)).stdout).toBe(
      `小明 已安装为 echo:小明：${model} 中的 27 B，就在原处使用。\n`,
    );
    expect((await mizuoto(['models', 'check', 'echo:小明'], chinese)).stdout).toMatch(/没有问题/);
    const broken: [string, string, RegExp][] = [
      ['model.safetensors', 'version https://git-lfs.github.com/spec/v1\n', /是 Git LFS 指针/],
      ['model.safetensors', '<!doctype html>', /是网页/],
      ['model.safetensors', '', /是空的/],
    ];
    for (const [file, content, message] of broken) {
      writeFileSync(join(model, file), content);
      const { exit, stdout } = await mizuoto(['models', 'check', 'echo:小明'], chinese);
      expect(exit).toBe(11);
      expect(stdout).toMatch(message);
    }
    rmSync(join(model, 'model.safetensors'));
    expect((await mizuoto(['models'], chinese)).stdout).toMatch(
      /已损坏[\s\S]*缺少模型文件“model\.safetensors”/,
    );
    expect((await mizuoto(['models', 'add', 'm'], chinese)).stderr).toMatch(
      /缺少模型文件“model\.safetensors”.*checkpoint_missing/,
    );
    expect((await mizuoto(['models', 'add', 'gone'], chinese)).stderr).toMatch(/不存在/);
    expect((await mizuoto(['models', 'remove', 'echo:小明'], chinese)).stdout).toMatch(
      /已移除 echo:小明，其文件仍留在/,
    );
  });

  it('finds what other tools have downloaded', async () => {
    const place = join(folder, '.cache', 'huggingface', 'hub', 'models--mizuoto--echo', 'snapshots');
    const none = await mizuoto(['models', 'find']);
    expect(none).toMatchObject({ exit: 0, stdout: expect.stringMatching(/no other model/) });
    const model = echoFolder(place, 'abc');
    expect((await json(['models', 'find'])).body.found).toMatchObject([{ id: 'echo:folder', folder: model }]);
    expect((await mizuoto(['models', 'find'])).stdout).toMatch(/echo:folder +27 B +\S+abc\n\nAdd one/);
    await mizuoto(['models', 'add', model]);
    expect((await mizuoto(['models', 'find'], chinese)).stdout).toMatch(/没有其他模型/);
  });

  it.each<[string[], number, string, RegExp]>([
    [
      ['models', 'ad'],
      2,
      'invalid_request',
      /cannot "ad". It can: list, find, add, remove, check. Did you mean "add"/,
    ],
    [['models', 'add'], 2, 'invalid_request', /missing: mizuoto models add FOLDER/],
    [['models', 'add', 'a', 'b'], 2, 'invalid_request', /"models add" does not take "b"/],
    [['models', 'check', 'x', '--name', 'y'], 2, 'invalid_request', /--name is only for: mizuoto models add/],
    [['models', 'add', 'nowhere'], 4, 'file_not_found', /nowhere" does not exist/],
    [['models', 'add', '.'], 6, 'model_not_recognised', /holds no config\.json/],
    [['models', 'remove', 'echo:foldr'], 2, 'unknown_model', /Did you mean "echo:folder"/],
    [['models', 'check', 'echo:folder'], 6, 'model_not_installed', /mizuoto\/echo-folder/],
    [['say', 'x', '-m', 'echo:folder'], 6, 'model_not_installed', /mizuoto models add FOLDER/],
  ])('%j fails with %i %s', async (args, exit, code, message) => {
    const failed = await mizuoto(args);
    expect(failed).toMatchObject({ exit, stdout: '' });
    expect(failed.stderr).toMatch(message);
    expect(failed.stderr).toContain(`(${code})`);
    const { body } = await json(args);
    expect(errorSchema.parse(body.error).code).toBe(code);
  });
});

describe('mizuoto voices', () => {
  it('saves, lists, changes and removes, and the voice speaks', async () => {
    const saved = await mizuoto(['voices', 'add', '小明', 'anna.wav', '--text', '水流过石头。', '-l', 'zh']);
    expect(saved).toEqual({
      exit: 0,
      stderr: '',
      stdout: '小明 is saved as 小明: 2.0 s of reference audio.\n',
    });
    const { body } = await json(['voices']);
    expect(body.saved.map((voice: unknown) => savedVoiceSchema.parse(voice))).toMatchObject([
      { name: '小明', text: '水流过石头。', language: 'zh' },
    ]);
    expect(body.voices.length).toBeGreaterThan(3);
    expect((await mizuoto(['voices'])).stdout).toMatch(
      /\(saved\) +小明 +小明 +zh +2\.0 s of reference audio with its words/,
    );
    expect((await mizuoto(['voices', '-e', 'tone'])).stdout).not.toMatch(/saved/);

    const spoken = await json([
      'say',
      'Hello.',
      '-e',
      'echo',
      '-v',
      '小明',
      '-o',
      'a.wav',
      '--set',
      'top_k=7',
      '--set',
      'greedy=true',
    ]);
    expect(spoken).toMatchObject({
      exit: 0,
      body: {
        model: 'echo:clone',
        voice: '小明',
        applied: {
          reference: { text: '水流过石头。' },
          parameters: { top_k: 7, greedy: true, temperature: 0.9 },
        },
      },
    });
    const changed = await mizuoto(['voices', 'change', '小明', '--name', 'Anna', '--text', ''], chinese);
    expect(changed.stdout).toBe('已修改 Anna（小明）。\n');
    expect((await mizuoto(['voices'], chinese)).stdout).toMatch(
      /（已保存） +小明 +Anna +zh +2\.0 秒参考音频\n/,
    );
    expect((await mizuoto(['voices', 'remove', 'anna'], chinese)).stdout).toBe(
      '已删除 Anna（小明）及由它计算出的内容。\n',
    );
    expect((await json(['voices'])).body.saved).toEqual([]);
  });

  it('says what is not ideal, in the person’s language', async () => {
    writeFileSync(join(folder, 'low.wav'), referenceWav(2, { sampleRate: 8000 }));
    const english = await mizuoto(['voices', 'add', 'a', 'low.wav']);
    expect(english).toMatchObject({
      exit: 0,
      stderr: expect.stringMatching(/warning: .*no sound above 4,000 Hz/),
    });
    expect((await mizuoto(['voices', 'add', 'b', 'low.wav'], chinese)).stderr).toMatch(/发闷/);
    expect((await mizuoto(['voices', 'add', 'c', 'low.wav', '-q'])).stderr).toBe('');
  });

  it.each(['speech.flac', 'speech.mp3', 'speech-vorbis.ogg', 'speech.opus'])(
    'a voice is kept and cloned from %s',
    async (name) => {
      copyFileSync(join(recordings, name), join(folder, name));
      const added = await mizuoto(['voices', 'add', 'Speech', name, '--json']);
      expect(added).toMatchObject({ exit: 0, stderr: '' });
      expect(JSON.parse(added.stdout).voice.seconds).toBeCloseTo(1.2, 1);
      const spoken = await mizuoto(['say', 'x', '-m', 'echo:clone', '-r', name, '-o', 'x.wav']);
      expect(spoken).toMatchObject({ exit: 0, stderr: '' });
    },
  );

  it.each<[string[], number, string, RegExp, RegExp]>([
    [
      ['voices', 'add', 'x', 'speech.m4a'],
      4,
      'file_unreadable',
      /it is an MP4 or M4A file\. Convert it first: ffmpeg -i INPUT reference\.wav/,
      /这是 MP4 或 M4A 文件.*ffmpeg/,
    ],
    [
      ['voices', 'add', 'x', 'cut.flac'],
      4,
      'file_unreadable',
      /is a FLAC file, but it ends before its first block of sound/,
      /这个 FLAC 文件已损坏/,
    ],
    [['voices', 'add', 'x'], 2, 'invalid_request', /voices add NAME FILE/, /缺少内容/],
    [['voices', 'ad', 'x', 'anna.wav'], 2, 'invalid_request', /Did you mean "add"/, /不能“ad”/],
    [['voices', 'add', '', 'anna.wav'], 2, 'invalid_request', /name of the voice is empty/, /它是空的/],
    [
      ['voices', 'add', 'x', 'none.wav'],
      4,
      'file_not_found',
      /audio file "none.wav" does not exist/,
      /不存在/,
    ],
    [['voices', 'add', 'x', '.'], 4, 'file_unreadable', /is a folder/, /是文件夹/],
    [['voices', 'add', 'x', 'text.wav'], 4, 'file_unreadable', /cannot be read as WAV/, /无法读取/],
    [
      ['voices', 'add', 'x', 'short.wav'],
      3,
      'reference_unusable',
      /lasts 0.3 s; at least 0.5 s/,
      /太短：只有 0.3 秒，至少需要 0.5 秒/,
    ],
    [['voices', 'add', 'x', 'silent.wav'], 3, 'reference_unusable', /Nothing can be heard/, /没有可听的声音/],
    [['voices', 'change', 'x'], 2, 'invalid_request', /--name, --text or --language/, /请说明要修改什么/],
    [
      ['voices', 'remove', 'x', '--text', 'y'],
      2,
      'invalid_request',
      /--text is only for: mizuoto voices add/,
      /只用于/,
    ],
    [
      ['voices', 'remove', 'nobody'],
      2,
      'unknown_voice',
      /no saved voice "nobody"/,
      /没有名为“nobody”的已保存音色。已保存的有：无。/,
    ],
    [
      ['say', 'x', '--reference-text', 'y'],
      2,
      'invalid_request',
      /--reference FILE, which is not given/,
      /没有给出该文件/,
    ],
    [['say', 'x', '-r', 'none.wav'], 4, 'file_not_found', /audio file "none.wav"/, /不存在/],
    [
      ['say', 'x', '-e', 'tone', '-r', 'anna.wav'],
      2,
      'not_supported',
      /cannot clone a voice. These can: echo:clone/,
      /做不到（克隆音色）/,
    ],
    [['say', 'x', '-e', 'echo', '--set', 'top_k'], 2, 'invalid_request', /write key=value/, /不是参数/],
    [
      ['say', 'x', '-e', 'echo', '--set', 'topk=1'],
      2,
      'invalid_request',
      /It has: temperature, top_k/,
      /没有参数“topk”/,
    ],
    [['say', 'x', '-e', 'echo', '--set', 'top_k=0'], 2, 'invalid_request', /from 1 to 3072/, /1 到 3072/],
    [
      ['say', 'x', '-e', 'echo', '--set', 'greedy=yes'],
      2,
      'invalid_request',
      /true, false/,
      /可以是：true、false/,
    ],
    [
      ['say', 'x', '-e', 'echo', '-l', 'Klingon'],
      2,
      'unknown_language',
      /It speaks: zh, en/,
      /不会说“Klingon”/,
    ],
    [
      ['voices', 'add', 'x', 'anna.wav', '-l', 'klingon'],
      2,
      'unknown_language',
      /No model speaks "klingon".* en \(English\)/,
      /没有模型会说“klingon”/,
    ],
    [
      ['say', 'x', '-m', 'echo:clone'],
      2,
      'invalid_request',
      /needs a voice to clone/,
      /还需要一个可克隆的音色/,
    ],
  ])('%j fails with %i %s', async (args, exit, code, message, zh) => {
    copyFileSync(join(recordings, 'speech.m4a'), join(folder, 'speech.m4a'));
    writeFileSync(join(folder, 'cut.flac'), readFileSync(join(recordings, 'speech.flac')).subarray(0, 900));
    writeFileSync(join(folder, 'text.wav'), 'not audio');
    writeFileSync(join(folder, 'short.wav'), referenceWav(0.3));
    writeFileSync(join(folder, 'silent.wav'), referenceWav(2, { level: 0 }));
    const [english, inChinese] = await Promise.all([mizuoto(args), mizuoto(args, chinese)]);
    for (const failed of [english, inChinese]) {
      expect(failed).toMatchObject({ exit, stdout: '' });
      expect(failed.stderr).toContain(`(${code})`);
    }
    expect(english.stderr).toMatch(message);
    expect(inChinese.stderr).toMatch(zh);
  });

  it('a home that cannot be written is said, whatever is asked', async () => {
    mkdirSync(join(folder, '.home'));
    writeFileSync(join(folder, '.home', 'voices'), 'a file');
    const failed = await mizuoto(['voices', 'add', 'x', 'anna.wav']);
    expect(failed).toMatchObject({ exit: 5, stderr: expect.stringMatching(/voices" cannot be written/) });
    expect(await mizuoto(['voices'])).toMatchObject({ exit: 0 });
    expect(readFileSync(join(folder, '.home', 'voices'), 'utf8')).toBe('a file');
  });
});

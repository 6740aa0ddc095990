/** Checkpoint readers through the addon; the rules one by one are in native/tests. */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Addon, CheckpointDType, NativeErrorCode } from './addon.ts';
import { loadAddon } from './load.ts';

let addon: Addon;
let folder: string;

beforeAll(() => {
  addon = loadAddon();
  folder = mkdtempSync(join(tmpdir(), 'mizuoto-checkpoint-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Part {
  dtype: string;
  shape: number[];
  data: Buffer;
}

function safetensors(parts: Record<string, Part>, metadata?: Record<string, string>): Buffer {
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let at = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(parts)) {
    header[name] = { dtype, shape, data_offsets: [at, at + data.length] };
    at += data.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...Object.values(parts).map((part) => part.data)]);
}

function write(name: string, bytes: Buffer | string): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, bytes);
  return path;
}

const bytesOf = (array: ArrayBufferView) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const floats = (...values: number[]) => bytesOf(new Float32Array(values));

async function rejects(paths: string[], code: NativeErrorCode, message: RegExp) {
  await expect(addon.openCheckpoint(paths)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
}

/** Independent of the addon: IEEE 754 binary16 by its definition. */
function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 0x3ff;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : (mantissa / 1024) * 2 ** -14);
}

describe('dtypes of safetensors', () => {
  const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
  const cases: [string, CheckpointDType, Buffer, number[]][] = [
    ['F64', 'f64', bytesOf(new Float64Array([0.1, -1e-300, inf])), [Math.fround(0.1), -0, inf]],
    ['F32', 'f32', floats(0.5, -3.25, nan), [0.5, -3.25, nan]],
    ['F16', 'f16', bytesOf(new Uint16Array([0x3c00, 0x8001, 0x7c00])), [1, -(2 ** -24), inf]],
    ['BF16', 'bf16', bytesOf(new Uint16Array([0x3f80, 0xc040, 0x0001])), [1, -3, 2 ** -133]],
    ['F8_E4M3', 'f8_e4m3', Buffer.from([0x38, 0x7e, 0xff, 0x81]), [1, 448, nan, -(2 ** -9)]],
    ['F8_E5M2', 'f8_e5m2', Buffer.from([0x3c, 0x7b, 0xfc, 0x01]), [1, 57344, -inf, 2 ** -16]],
    ['I64', 'i64', bytesOf(new BigInt64Array([-5n, 2n ** 53n + 1n])), [-5, 2 ** 53]],
    ['I32', 'i32', bytesOf(new Int32Array([-5, 16777217])), [-5, 16777216]],
    ['I16', 'i16', bytesOf(new Int16Array([-32768, 32767])), [-32768, 32767]],
    ['I8', 'i8', bytesOf(new Int8Array([-128, 127])), [-128, 127]],
    ['U8', 'u8', Buffer.from([0, 128, 255]), [0, 128, 255]],
    ['BOOL', 'bool', Buffer.from([0, 1]), [0, 1]],
  ];

  it.each(cases)('%s reads as written', async (stored, dtype, data, values) => {
    const parts = { 'a.weight': { dtype: stored, shape: [values.length, 1], data } };
    const checkpoint = await addon.openCheckpoint([write(`${stored}.safetensors`, safetensors(parts))]);
    expect(checkpoint.format).toBe('safetensors');
    expect(checkpoint.tensors).toEqual([
      { name: 'a.weight', dtype, shape: [values.length, 1], bytes: data.length, file: 0 },
    ]);
    expect(Buffer.from(checkpoint.readBytes('a.weight'))).toEqual(data);
    expect([...checkpoint.readFloat32('a.weight')]).toEqual(values);
    checkpoint.close();
  });

  it('lists what it has no reader for, and says so when asked', async () => {
    const parts = { w: { dtype: 'U64', shape: [1], data: Buffer.alloc(8, 7) } };
    const checkpoint = await addon.openCheckpoint([write('u64.safetensors', safetensors(parts))]);
    expect(checkpoint.tensors[0]).toMatchObject({ dtype: 'other', bytes: 8 });
    expect(Buffer.from(checkpoint.readBytes('w'))).toEqual(Buffer.alloc(8, 7));
    expect(() => checkpoint.readFloat32('w')).toThrow(
      expect.objectContaining({ code: 'UnsupportedDType', message: expect.stringContaining('"U64"') }),
    );
  });
});

describe('values that are no numbers', () => {
  it('are found by their element, beside this thread', async () => {
    const f16 = Buffer.from(new Uint16Array([0x3c00, 0xfbff, 0x7c00]).buffer);
    const bf16 = Buffer.from(new Uint16Array([0x3f80, 0xff7f, 0x3f80, 0x7fc0]).buffer);
    const parts = {
      sound: { dtype: 'F32', shape: [2], data: floats(3.4028234663852886e38, -0) },
      nan: { dtype: 'F32', shape: [3], data: floats(1, 2, Number.NaN) },
      half: { dtype: 'F16', shape: [3], data: f16 },
      brain: { dtype: 'BF16', shape: [2, 2], data: bf16 },
      whole: { dtype: 'I64', shape: [1], data: Buffer.alloc(8, 0xff) },
      odd: { dtype: 'F8_E8M0', shape: [1], data: Buffer.alloc(1) },
    };
    const checkpoint = await addon.openCheckpoint([write('special.safetensors', safetensors(parts))]);
    const found = (name: string) => checkpoint.firstNonFinite(name);
    expect(await Promise.all(['sound', 'nan', 'half', 'brain', 'whole'].map(found))).toEqual([
      null,
      2,
      2,
      3,
      null,
    ]);
    await expect(found('odd')).rejects.toMatchObject({ code: 'UnsupportedDType' });
    expect(() => found('none')).toThrow(expect.objectContaining({ code: 'InvalidArgument' }));
    const last = found('nan');
    checkpoint.close();
    expect(await last).toBe(2);
    expect(() => found('nan')).toThrow(expect.objectContaining({ code: 'Disposed' }));
  });
});

describe('paths, shards and metadata', () => {
  const one = (name: string, value: number) =>
    safetensors({ [name]: { dtype: 'F32', shape: [1], data: floats(value) } }, { from: name });

  it('opens a path that is not ASCII', async () => {
    const path = write(join('声音', 'é 🎤.safetensors'), one('层.weight', 4));
    const checkpoint = await addon.openCheckpoint([path]);
    expect(checkpoint.files).toEqual([path]);
    expect([...checkpoint.readFloat32('层.weight')]).toEqual([4]);
    expect(checkpoint.metadata).toEqual({ from: '层.weight' });
    await rejects(
      [join(folder, '声音', '没有.safetensors')],
      'FileNotFound',
      /没有\.safetensors" does not exist/,
    );
  });

  it('joins the shards of an index, and names the one that is missing', async () => {
    const weightMap = { b: 'm-00002-of-00002.safetensors', a: 'm-00001-of-00002.safetensors' };
    const index = write('m.safetensors.index.json', JSON.stringify({ metadata: {}, weight_map: weightMap }));
    const first = write('m-00001-of-00002.safetensors', one('a', 1));
    await rejects([index], 'ShardMissing', /"m-00002-of-00002\.safetensors".*not beside it/);
    const second = write('m-00002-of-00002.safetensors', one('b', 2));
    for (const paths of [[index], [first, second]]) {
      const checkpoint = await addon.openCheckpoint(paths);
      expect(checkpoint.files).toEqual([first, second]);
      expect(checkpoint.tensors.map(({ name, file }) => [name, file])).toEqual([
        ['a', 0],
        ['b', 1],
      ]);
      expect([...checkpoint.readFloat32('a'), ...checkpoint.readFloat32('b')]).toEqual([1, 2]);
    }
  });

  it('reads GGUF: metadata of all kinds, shapes in PyTorch order, quantised weights', async () => {
    const u32 = (value: number) => bytesOf(new Uint32Array([value]));
    const u64 = (value: number) => bytesOf(new BigUint64Array([BigInt(value)]));
    const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
    const q8 = Buffer.concat([Buffer.from([0x00, 0x38]), bytesOf(new Int8Array(32).map((_, i) => i - 16))]);
    const head = Buffer.concat([
      ...[Buffer.from('GGUF'), u32(3), u64(2), u64(4)],
      ...[text('general.name'), u32(8), text('声')],
      ...[text('rate'), u32(4), u32(24000)],
      ...[text('on'), u32(7), Buffer.from([1])],
      ...[text('tokens'), u32(9), u32(8), u64(2), text('a'), text('')],
      ...[text('w'), u32(2), u64(3), u64(2), u32(0), u64(0)],
      ...[text('q'), u32(1), u64(32), u32(8), u64(32)],
    ]);
    const padding = Buffer.alloc((32 - (head.length % 32)) % 32);
    const data = Buffer.concat([floats(1, 2, 3, 4, 5, 6), Buffer.alloc(8), q8]);
    const checkpoint = await addon.openCheckpoint([write('m.gguf', Buffer.concat([head, padding, data]))]);
    expect(checkpoint.format).toBe('gguf');
    expect(checkpoint.metadata).toEqual({ 'general.name': '声', rate: 24000, on: true, tokens: ['a', ''] });
    expect(checkpoint.tensors).toEqual([
      { name: 'w', dtype: 'f32', shape: [2, 3], bytes: 24, file: 0 },
      { name: 'q', dtype: 'q8_0', shape: [32], bytes: 34, file: 0 },
    ]);
    expect([...checkpoint.readFloat32('w')]).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...checkpoint.readFloat32('q')]).toEqual(Array.from({ length: 32 }, (_, i) => (i - 16) / 2));
  });
});

describe('what is refused', () => {
  it('says what a file is instead', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n';
    await rejects([write('lfs.safetensors', pointer)], 'FileIsLfsPointer', /12,345 bytes.*git lfs pull/);
    await rejects([write('page.safetensors', '<!DOCTYPE html>\n<p>')], 'FileIsHtml', /web page/);
    await rejects(
      [write('model.pt', Buffer.from('PK\x03\x04........archive/data.pkl'))],
      'FileIsPickle',
      /pickled/,
    );
    await rejects([write('empty.safetensors', '')], 'FileTruncated', /is empty/);
    await rejects([folder], 'FileNotACheckpoint', /is a folder/);
  });

  it('gives the numbers behind a message', async () => {
    const whole = safetensors({ w: { dtype: 'F32', shape: [4], data: floats(1, 2, 3, 4) } });
    const path = write('short.safetensors', whole.subarray(0, whole.length - 3));
    await expect(addon.openCheckpoint([path])).rejects.toMatchObject({
      code: 'FileTruncated',
      details: { file: path, expected: whole.length, found: whole.length - 3 },
    });
  });

  it('takes no wrong arguments', async () => {
    const wrong: unknown[] = [undefined, 'x', [1], [null], [], [''], ['a\0b'], ['\ud800']];
    for (const argument of wrong) {
      const opened = (async () => addon.openCheckpoint(argument as string[]))();
      await expect(opened).rejects.toMatchObject({
        code: expect.stringMatching(/^(InvalidArgument|FileNotFound)$/),
      });
    }
  });

  it('is closed once closed, and knows its names', async () => {
    const parts = { w: { dtype: 'F32', shape: [1], data: floats(1) } };
    const checkpoint = await addon.openCheckpoint([write('close.safetensors', safetensors(parts))]);
    expect(() => checkpoint.readFloat32('v')).toThrow(
      expect.objectContaining({
        code: 'InvalidArgument',
        message: expect.stringMatching(/no tensor "v".*"w"/),
      }),
    );
    checkpoint.close();
    checkpoint.close();
    expect(() => checkpoint.readFloat32('w')).toThrow(expect.objectContaining({ code: 'Disposed' }));
    expect(() => checkpoint.tensors).toThrow(expect.objectContaining({ code: 'Disposed' }));
  });
});

describe('what would end a process', () => {
  it('a tensor larger than any array is refused, and can still be listed', async () => {
    const path = join(folder, 'huge.safetensors');
    const bytes = 5 * 2 ** 30;
    const header = JSON.stringify({ w: { dtype: 'U8', shape: [bytes], data_offsets: [0, bytes] } });
    const file = openSync(path, 'w');
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    writeSync(file, Buffer.concat([length, Buffer.from(header)]));
    ftruncateSync(file, 8 + header.length + bytes);
    closeSync(file);
    const checkpoint = await addon.openCheckpoint([path]);
    expect(checkpoint.tensors[0]!.bytes).toBe(bytes);
    const refused = expect.objectContaining({
      code: 'OutOfHostMemory',
      message: expect.stringContaining('w'),
    });
    expect(() => checkpoint.readBytes('w')).toThrow(refused);
    expect(() => checkpoint.readFloat32('w')).toThrow(refused);
    checkpoint.close();
    rmSync(path);
  });

  it('a file cut while its weights are in use on the processor is an error of the run', async () => {
    const parts = { w: { dtype: 'F32', shape: [1024, 1024], data: Buffer.alloc(4 << 20) } };
    const path = write('cut-later.safetensors', safetensors(parts));
    const checkpoint = await addon.openCheckpoint([path]);
    const device = await addon.openDevice({ name: 'CPU', threads: 1 });
    const shape = [1024, 1024];
    const store = addon.createWeightStore('cut', [
      { name: 'w', shape, dtype: 'f32', unit: 0, source: { checkpoint, tensor: 'w' } },
    ]);
    store.bind(device);
    await store.place(0);
    const recorder = addon.createRecorder();
    const x = recorder.input('f32', [1, 1024]);
    recorder.setUnit(store, 0);
    recorder.output(recorder.op('mul_mat', [recorder.weight(store, 'w'), x]));
    const graph = recorder.compile(device, device.createArena());
    const run = () => graph.run({ inputs: [[x, new Float32Array(1024)]] });
    await expect(run()).resolves.toHaveLength(1);
    truncateSync(path, 8192);
    await expect(run()).rejects.toMatchObject({ code: expect.stringMatching(/^File/) });
    graph.dispose();
    await store.dispose();
    await device.close();
  });

  it('metadata keys of any kind are plain data', async () => {
    const header = Buffer.from('{"__metadata__":{"__proto__":"p","a\\u0000b":"n","constructor":"c"}}');
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const checkpoint = await addon.openCheckpoint([
      write('keys.safetensors', Buffer.concat([length, header])),
    ]);
    const { metadata } = checkpoint;
    expect(Object.entries(metadata).sort()).toEqual([
      ['__proto__', 'p'],
      ['a\0b', 'n'],
      ['constructor', 'c'],
    ]);
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });
});

describe('weights of the built-in voice', () => {
  const voice = join(import.meta.dirname, '..', 'app', 'resources', 'mini-voice');

  it.each([
    ['acoustic', 122, 2_581_907],
    ['vocoder', 62, 1_653_570],
  ])('%s reads as its header and bytes say', async (name, count, parameters) => {
    const path = join(voice, `${name}.safetensors`);
    const file = readFileSync(path);
    const length = Number(file.readBigUInt64LE(0));
    const { __metadata__: metadata, ...header } = JSON.parse(file.toString('utf8', 8, 8 + length)) as Record<
      string,
      { dtype: string; shape: number[]; data_offsets: [number, number] }
    >;
    const checkpoint = await addon.openCheckpoint([path]);
    expect(checkpoint.metadata).toEqual(metadata);
    expect(checkpoint.tensors.map((tensor) => tensor.name).sort()).toEqual(Object.keys(header).sort());
    expect(checkpoint.tensors.length).toBe(count);
    let total = 0;
    for (const tensor of checkpoint.tensors) {
      const entry = header[tensor.name]!;
      expect([tensor.dtype.toUpperCase(), tensor.shape]).toEqual([entry.dtype, entry.shape]);
      const [begin, end] = entry.data_offsets;
      const raw = file.subarray(8 + length + begin, 8 + length + end);
      expect(Buffer.compare(checkpoint.readBytes(tensor.name), raw)).toBe(0);
      const values = checkpoint.readFloat32(tensor.name);
      const wrong = values.findIndex((value, i) => value !== halfToNumber(raw.readUInt16LE(2 * i)));
      expect([tensor.name, wrong]).toEqual([tensor.name, -1]);
      total += values.length;
    }
    expect(total).toBe(parameters);
  });

  it('is refused wherever it is cut off', async () => {
    const file = readFileSync(join(voice, 'vocoder.safetensors'));
    const path = join(folder, 'cut.safetensors');
    for (const size of [1, 8, 9, 100, 4000, 8000, file.length / 2, file.length - 1]) {
      writeFileSync(path, file.subarray(0, size));
      await rejects([path], 'FileTruncated', /download it again\.$/);
    }
    writeFileSync(path, Buffer.concat([file, Buffer.alloc(1)]));
    await rejects([path], 'HeaderInvalid', /1 byte too many/);
  });
});

import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { voiceFolder } from './testing/golden.ts';
import { goldenReader, Rig } from './testing/rig.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'mizuoto-voice-'));
  for (const file of ['config.json', 'phones.json', 'acoustic.safetensors', 'vocoder.safetensors']) {
    cpSync(path.join(voiceFolder, file), path.join(folder, file));
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = (file: string) => path.join(folder, file);

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** Change the header (kept at its length) or the data of a checkpoint. */
function edit(file: string, change: (header: Record<string, Entry>, data: Buffer) => void): void {
  const bytes = readFileSync(inFolder(file));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, Entry>;
  change(header, bytes.subarray(8 + length));
  const text = JSON.stringify(header).padEnd(length);
  expect(text).toHaveLength(length);
  bytes.write(text, 8);
  writeFileSync(inFolder(file), bytes);
}

async function failure(options: { english?: boolean } = {}): Promise<{ code: string; message: string }> {
  const rig = await Rig.open({}, { folder, ...(options.english ? {} : { readText: goldenReader() }) });
  try {
    const error = await rig.speak({ text: '0' }).then(
      () => null,
      (reason: { code: string; message: string }) => reason,
    );
    expect(rig.runtime.manager.handles).toEqual([]);
    expect(rig.runtime.view().models).toEqual([]);
    if (error === null) expect.fail('it was spoken all the same');
    return error;
  } finally {
    await rig.close();
  }
}

describe('a damaged voice is refused with its reason, and nothing stays loaded', () => {
  test('a missing checkpoint', async () => {
    rmSync(inFolder('vocoder.safetensors'));
    const { code, message } = await failure();
    expect(code).toBe('FileNotFound');
    expect(message).toContain('vocoder.safetensors');
  });

  test('a truncated checkpoint', async () => {
    truncateSync(inFolder('vocoder.safetensors'), 2_000_000);
    expect((await failure()).code).toMatch(/^(FileTruncated|TensorOutOfBounds)$/);
  });

  test('a web page under the name of a checkpoint', async () => {
    writeFileSync(inFolder('acoustic.safetensors'), '<!DOCTYPE html><html><body>Not found</body></html>');
    expect((await failure()).code).toBe('FileIsHtml');
  });

  test('NaN and infinity among the weights', async () => {
    for (const bits of [0x7e00, 0xfc00]) {
      edit('acoustic.safetensors', (header, data) => {
        data.writeUInt16LE(bits, header['decoder.3.pw1.weight']!.data_offsets[0] + 200);
      });
      const { code, message } = await failure();
      expect(code).toBe('weights_not_finite');
      expect(message).toContain('decoder.3.pw1.weight');
    }
  });

  test('a tensor of another shape', async () => {
    edit('vocoder.safetensors', (header) => {
      header['head.weight']!.shape.reverse();
    });
    const { code, message } = await failure();
    expect(code).toBe('checkpoint_mismatch');
    expect(message).toContain('head.weight');
  });

  test('a tensor of another name', async () => {
    edit('vocoder.safetensors', (header) => {
      header['head.weighs']! = header['head.weight']!;
      delete header['head.weight'];
    });
    const { code, message } = await failure();
    expect(code).toBe('checkpoint_mismatch');
    expect(message).toContain('head.weight');
  });

  test('phones.json that is missing, no JSON, or of a larger voice', async () => {
    const file = inFolder('phones.json');
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    expect((await failure({ english: true })).code).toBe('checkpoint_missing');
    writeFileSync(file, text.slice(0, 100));
    expect((await failure({ english: true })).code).toBe('checkpoint_invalid');
    writeFileSync(file, text.replace('"zh": 25', '"zh": 125'));
    expect((await failure({ english: true })).code).toBe('checkpoint_invalid');
  });

  test('once it is repaired, the same runtime speaks', async () => {
    const whole = readFileSync(inFolder('vocoder.safetensors'));
    truncateSync(inFolder('vocoder.safetensors'), 100);
    const rig = await Rig.open({}, { folder, readText: goldenReader() });
    try {
      await expect(rig.speak({ text: '0' })).rejects.toThrow();
      writeFileSync(inFolder('vocoder.safetensors'), whole);
      expect((await rig.speak({ text: '0' })).samples.length).toBeGreaterThan(20_000);
    } finally {
      await rig.close();
    }
  });
});

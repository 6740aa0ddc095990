import { describe, expect, it } from 'vitest';
import { say } from '../../../../main/contract/said.ts';
import { fakeCpu, fakeGpu, fakeSnapshot, partialSnapshot } from '../../bridge/fake-data.ts';
import { namesOf } from './names.ts';
import { deviceParts, heldBytes, ramParts } from './parts.ts';

const sum = (parts: { bytes: number }[]): number => parts.reduce((total, { bytes }) => total + bytes, 0);

describe('the bar of a device', () => {
  it('adds up to the whole and keeps its order', () => {
    const parts = deviceParts(fakeGpu);
    expect(sum(parts)).toBeCloseTo(fakeGpu.total_bytes, -3);
    expect(parts.map(({ part }) => part)).toEqual([
      'weights',
      'slots',
      'compute',
      'state',
      'io',
      'others',
      'reserve',
      'free',
    ]);
    expect(heldBytes(fakeGpu)).toBe(sum(parts.slice(0, 5)));
  });

  it('leaves out what is empty, and never reserves more than is free', () => {
    expect(deviceParts(fakeCpu).map(({ part }) => part)).toEqual(['others', 'free']);
    const tight = { ...fakeGpu, free_bytes: 100, reserve_bytes: 5000 };
    expect(deviceParts(tight).filter(({ part }) => part === 'reserve' || part === 'free')).toEqual([
      { part: 'reserve', bytes: 100 },
    ]);
  });
});

describe('the bar of main memory', () => {
  it('adds up to the whole', () => {
    for (const { host } of [fakeSnapshot(), partialSnapshot()]) {
      expect(sum(ramParts(host))).toBeCloseTo(host.total_bytes, -3);
    }
  });

  it('survives figures that do not fit each other', () => {
    const host = { ...fakeSnapshot().host, process_bytes: 1, pinned_bytes: 100, available_bytes: 0 };
    expect(ramParts(host).every(({ bytes }) => bytes > 0)).toBe(true);
  });
});

describe('names', () => {
  const { devices, models } = partialSnapshot();
  const names = namesOf(devices, models);

  it('are those that people use; what nobody knows any more goes by its id', () => {
    expect(names.device('CUDA0')).toBe('RTX 4070');
    expect(names.device('CUDA7')).toBe('CUDA7');
    // The id of a model has colons of its own.
    expect(names.component('qwen3-tts:1.7b:talker')).toBe('Qwen3-TTS 1.7B · talker');
    expect(names.component('qwen3-tts:1.7b:talker', 'qwen3-tts:1.7b')).toBe('talker');
    expect(names.component('qwen3-tts:1.7b')).toBe('Qwen3-TTS 1.7B');
    expect(names.component('qwen3-tts:0.6b:talker')).toBe('qwen3-tts:0.6b:talker');
  });

  it('stand in sentences in the place of ids, whose other values stay', () => {
    const said = say('gives_up_desktop', {
      component: 'qwen3-tts:1.7b:codec',
      device: 'CUDA0',
      bytes: 410,
      short: 400,
    });
    expect(names.said(said).params).toEqual({
      component: 'Qwen3-TTS 1.7B · codec',
      device: 'RTX 4070',
      bytes: 410,
      short: 400,
    });
    expect(said.params.device).toBe('CUDA0');
  });
});

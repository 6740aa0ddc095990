import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, Device, WeightStore } from '../../../native/addon.ts';
import { Random } from '../../nn/random.ts';
import { addon, openTestDevice } from '../../nn/testing/devices.ts';
import { CodecDecoder, codecDecoderName } from './codec-decoder.ts';
import { CodecDecoding } from './codec-decoding.ts';
import { codecTensors } from './codec-tensors.ts';
import { openTiny, place, tinyConfig } from './codec-testing.ts';
import { FrameStream } from './frame-stream.ts';
import { SampleStream } from './sample-stream.ts';
import { nextStretch } from './stretches.ts';

const random = new Random(4);
const frames = Array.from({ length: 40 }, () => Int32Array.from({ length: 4 }, () => random.uint32() % 64));

describe('frames in stretches', () => {
  /** Draws the frames; fails once before the frame of that number. */
  function source({ failAt = -1, count = frames.length } = {}) {
    const log = { opened: 0, closed: 0, drawn: 0 };
    let fail = failAt;
    const draw = async function* () {
      log.opened++;
      try {
        for (const [index, frame] of frames.slice(0, count).entries()) {
          if (index === fail) {
            fail = -1;
            throw new Error('out of memory');
          }
          log.drawn++;
          yield frame;
        }
        return 'end' as const;
      } finally {
        log.closed++;
      }
    };
    return { stream: new FrameStream(draw), log };
  }

  it('draws what is asked for, once, and knows the end', async () => {
    const { stream, log } = source({ count: 10 });
    await stream.drawTo(4);
    await stream.drawTo(4);
    expect([stream.frames.length, stream.end, stream.open]).toEqual([4, null, true]);
    await stream.drawTo(100);
    await stream.drawTo(100);
    expect(stream.frames).toEqual(frames.slice(0, 10));
    expect(stream.end).toBe('end');
    expect(log).toEqual({ opened: 1, closed: 1, drawn: 10 });
  });

  it('gives everything back after a failure, and draws the same frames again', async () => {
    const { stream, log } = source({ failAt: 6, count: 10 });
    await stream.drawTo(4);
    await expect(stream.drawTo(8)).rejects.toThrow('out of memory');
    expect([stream.open, log.closed]).toEqual([false, 1]);
    await stream.drawTo(8);
    expect(stream.frames).toEqual(frames.slice(0, 8));
    expect(log).toEqual({ opened: 2, closed: 1, drawn: 14 });
    await stream.close();
    expect(log.closed).toBe(2);
  });
});

describe('samples in stretches', () => {
  let device: Device;
  let checkpoint: Checkpoint;
  let store: WeightStore;
  let decoding: CodecDecoding;
  let whole: Float32Array;
  beforeAll(async () => {
    device = await openTestDevice('CPU');
    checkpoint = await openTiny('codec');
    const module = new CodecDecoder(tinyConfig.codec.decoder_config, codecTensors(checkpoint));
    store = await place(module, checkpoint, device, codecDecoderName);
    decoding = new CodecDecoding({ addon, device, module });
    whole = await decoding.decode(Int32Array.from(frames.flatMap((frame) => [...frame])));
  });
  afterAll(async () => {
    await decoding.dispose();
    await store.dispose();
    checkpoint.close();
    await device.close();
  });

  const joined = (parts: Float32Array[]): number[] => parts.flatMap((part) => [...part]);

  it.each([[1], [7], [7, 8], [3, 30], [40]])(
    'cut every %j frames: the samples of one decode, to the bit',
    async (...cuts) => {
      const stream = new SampleStream(decoding);
      const parts: Float32Array[] = [];
      for (let at = 0, turn = 0; at < frames.length; turn++) {
        at = Math.min(frames.length, at + cuts[turn % cuts.length]!);
        await stream.decode(frames.slice(0, at), at === frames.length);
        parts.push(stream.take());
      }
      expect(joined(parts)).toEqual([...whole]);
    },
  );

  it('leaves out what comes before, and continues it', async () => {
    const stream = new SampleStream(decoding, 12);
    await stream.decode(frames.slice(0, 20), false);
    const parts = [stream.take()];
    await stream.decode(frames, true);
    parts.push(stream.take());
    expect(joined(parts)).toEqual([...whole.subarray(12 * 80)]);
  });

  it('is asked for a stretch again: the same samples; after a failure it begins anew and leaves out what was taken', async () => {
    let fail = false;
    const flaky = {
      samplesPerFrame: decoding.samplesPerFrame,
      start: async () => {
        const inner = await decoding.start();
        const push: typeof inner.push = async (codes, signal) => {
          if (fail) throw new Error('out of memory');
          return inner.push(codes, signal);
        };
        return Object.assign(Object.create(inner), {
          push,
          finish: inner.finish.bind(inner),
          close: inner.close.bind(inner),
        }) as typeof inner;
      },
    };
    const stream = new SampleStream(flaky, 5);
    await stream.decode(frames.slice(0, 15), false);
    const parts = [stream.take()];
    await stream.decode(frames.slice(0, 22), false);
    fail = true;
    await expect(stream.decode(frames.slice(0, 30), false)).rejects.toThrow('out of memory');
    fail = false;
    await stream.decode(frames.slice(0, 30), false);
    await stream.decode(frames.slice(0, 30), false);
    parts.push(stream.take());
    await stream.decode(frames, true);
    await stream.decode(frames, true);
    parts.push(stream.take());
    expect(joined(parts)).toEqual([...whole.subarray(5 * 80)]);
    stream.close();
  });
});

it('changes between talker and decoder as often as it costs nothing', () => {
  const [whole, partial] = [[{ isWhole: true }], [{ isWhole: true }, { isWhole: false }]];
  expect([0, 7, 8, 8].map((before) => nextStretch(before, whole))).toEqual([7, 8, 8, 8]);
  expect([0, 7, 14, 200, 256].map((before) => nextStretch(before, partial))).toEqual([7, 14, 28, 256, 256]);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeWire, encodeFrame, encodeWire, FrameReader, type StreamMessage } from './wire.ts';

const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    fc.float32Array({ maxLength: 9 }),
    fc.uint8Array({ maxLength: 9 }),
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('node'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).node;

/** JSON with typed arrays spelled out, so that types and bits are compared. */
const shown = (input: unknown): string =>
  JSON.stringify(input, (_key, item: unknown) =>
    item instanceof Float32Array
      ? { f32: Buffer.from(item.buffer, item.byteOffset, item.byteLength).toString('hex') }
      : item instanceof Uint8Array
        ? { u8: Buffer.from(item).toString('hex') }
        : item,
  );

describe('wire messages', () => {
  it('carry any value with typed arrays in it', () => {
    fc.assert(
      fc.property(value, (input) => {
        expect(shown(decodeWire(encodeWire(input)))).toBe(shown(input));
      }),
      { numRuns: 300 },
    );
  });

  it('give back audio to the bit, in memory of its own', () => {
    const samples = Float32Array.from([0, -0, 1, -1, 1e-38, 0.1]);
    const bytes = encodeWire({ data: { samples, list: [new Uint8Array([1, 2, 3])] } });
    const back = decodeWire(bytes) as { data: { samples: Float32Array; list: Uint8Array[] } };
    expect(back.data.samples).toEqual(samples);
    expect(back.data.list[0]).toEqual(new Uint8Array([1, 2, 3]));
    bytes.fill(0);
    expect(back.data.samples[2]).toBe(1);
  });

  it('refuse anything else with a RangeError, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          decodeWire(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
    const good = encodeWire({ samples: new Float32Array(8) });
    expect(() => decodeWire(good.subarray(0, good.length - 8))).toThrow(/a part ends at/);
    expect(() => decodeWire(new Uint8Array([255, 255, 255, 255, 0]))).toThrow(/a header of/);
  });

  it('never write outside the message', () => {
    const forge = (path: string[], body: unknown) => {
      const header = new TextEncoder().encode(
        JSON.stringify({ body, parts: [{ path, kind: 'u8', offset: 0, length: 0 }] }),
      );
      const bytes = new Uint8Array(4 + header.length + 8);
      new DataView(bytes.buffer).setUint32(0, header.length, true);
      bytes.set(header, 4);
      return bytes;
    };
    expect(() => decodeWire(forge(['__proto__', 'polluted'], {}))).toThrow(/no place/);
    expect(() => decodeWire(forge(['a'], { a: 1 }))).toThrow(/no place/);
    expect(decodeWire(forge(['a'], { a: null }))).toBeTruthy();
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});

describe('the event stream', () => {
  const messages: StreamMessage[] = [
    { type: 'hello', pid: 7 },
    { type: 'event', name: 'job.audio', data: { job_id: 'a', samples: Float32Array.from([0.5, 0.25]) } },
    { type: 'beat' },
  ];

  it('is read whole however it is cut', () => {
    const all = Buffer.concat(messages.map(encodeFrame));
    for (const size of [1, 2, 5, 64, all.length]) {
      const reader = new FrameReader();
      const read: StreamMessage[] = [];
      for (let at = 0; at < all.length; at += size) read.push(...reader.push(all.subarray(at, at + size)));
      expect(read).toEqual(messages);
    }
  });

  it('stops at an absurd frame', () => {
    expect(() => new FrameReader(100).push(new Uint8Array([0, 1, 0, 0]))).toThrow(/above 100/);
  });
});

import { describe, expect, it } from 'vitest';
import { fakeOutputs } from '../testing/fake-output.ts';
import { FakeTimers, settle } from '../testing/fake-timers.ts';
import { type PcmSource, Transport, type TransportStatus, transportTiming } from './transport.ts';

const rate = 1000;

/** Frame n sounds as n + 1, so that every frame can be told from every other and from silence. */
class Ramp implements PcmSource {
  readonly sampleRate: number;
  frames: number;
  isComplete = false;
  constructor(frames: number, sampleRate = rate) {
    this.frames = frames;
    this.sampleRate = sampleRate;
  }
  async read(start: number, count: number): Promise<Float32Array<ArrayBuffer>> {
    return Float32Array.from({ length: Math.min(count, this.frames - start) }, (_, i) => start + i + 1);
  }
}

function setUp(source: PcmSource) {
  const timers = new FakeTimers();
  const { outputs, openOutput } = fakeOutputs();
  const history: TransportStatus[] = [];
  const transport = new Transport(openOutput, (status) => history.push(status), timers);
  transport.load(source);
  /** Time passes for the timers and for the sound device alike. */
  const pass = async (seconds: number) => {
    for (let elapsed = 0; elapsed < seconds; elapsed += 0.05) {
      const output = outputs.at(-1);
      if (output !== undefined && !output.blocked) output.frame += Math.round(0.05 * output.sampleRate);
      await timers.advance(50);
    }
  };
  return { transport, timers, outputs, history, pass };
}

/** What the device has played or will: the source frames in order, silence left out. */
const heard = (sound: Map<number, number>): number[] =>
  [...sound].sort((a, b) => a[0] - b[0]).map(([, sample]) => sample);
const runs = (sound: Map<number, number>): number => {
  const frames = [...sound.keys()].sort((a, b) => a - b);
  return frames.filter((frame, index) => index === 0 || frame !== frames[index - 1]! + 1).length;
};

describe('transport', () => {
  it('plays every frame once, in order and without a gap', async () => {
    const source = new Ramp(12_345);
    source.isComplete = true;
    const { transport, outputs, pass } = setUp(source);
    transport.play();
    await pass(14);
    const { sound, overlaps } = outputs[0]!;
    expect(heard(sound)).toEqual(Array.from({ length: 12_345 }, (_, i) => i + 1));
    expect(runs(sound)).toBe(1);
    expect(overlaps).toBe(0);
    expect(transport.status).toBe('ended');
    expect(transport.position).toBe(12_345);
  });

  it('joins pieces that arrive while it plays', async () => {
    const source = new Ramp(1500);
    const { transport, outputs, pass } = setUp(source);
    transport.play();
    for (let i = 0; i < 10; i++) {
      await pass(0.5);
      source.frames += 777;
      await transport.pump();
    }
    source.isComplete = true;
    await pass(12);
    expect(heard(outputs[0]!.sound)).toHaveLength(1500 + 7770);
    expect(runs(outputs[0]!.sound)).toBe(1);
    expect(outputs[0]!.overlaps).toBe(0);
  });

  it('schedules no further ahead than it must', async () => {
    const source = new Ramp(100_000);
    source.isComplete = true;
    const { transport, outputs, pass } = setUp(source);
    transport.play();
    await pass(3);
    const output = outputs[0]!;
    const ahead = Math.max(...output.sound.keys()) - output.frame;
    expect(ahead).toBeGreaterThan(transportTiming.lookahead * rate * 0.9);
    expect(ahead).toBeLessThanOrEqual((transportTiming.lookahead + transportTiming.block) * rate);
  });

  it('waits when it has caught up with the engine, and goes on where it was', async () => {
    const source = new Ramp(1000);
    const { transport, outputs, pass, history } = setUp(source);
    transport.play();
    await pass(2);
    expect(transport.status).toBe('waiting');
    expect(transport.position).toBe(1000);
    // A crumb is not enough to start again: sound would stutter.
    source.frames += 100;
    await pass(0.5);
    expect(transport.status).toBe('waiting');
    source.frames += 900;
    await pass(0.5);
    expect(transport.status).toBe('playing');
    source.isComplete = true;
    await pass(3);
    expect(history).toEqual(['paused', 'playing', 'waiting', 'playing', 'ended']);
    expect(heard(outputs[0]!.sound)).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1));
    expect(runs(outputs[0]!.sound)).toBe(2);
  });

  it('ends a starved recording whose job was stopped', async () => {
    const source = new Ramp(1000);
    const { transport, pass } = setUp(source);
    transport.play();
    await pass(2);
    source.isComplete = true;
    await pass(0.5);
    expect(transport.status).toBe('ended');
  });

  it('follows the clock of the device, not the timers', async () => {
    const source = new Ramp(10_000);
    source.isComplete = true;
    const { transport, outputs, timers } = setUp(source);
    transport.play();
    await settle();
    outputs[0]!.frame = 50 + 1234;
    expect(transport.position).toBe(1234);
    await timers.advance(1000);
    expect(transport.position).toBe(1234);
  });

  it('pauses where it is and resumes from there', async () => {
    const source = new Ramp(10_000);
    source.isComplete = true;
    const { transport, outputs, timers, pass } = setUp(source);
    transport.play();
    await pass(2);
    transport.pause();
    const at = transport.position;
    expect(at).toBeGreaterThan(1500);
    expect(timers.pending).toBe(0);
    const played = outputs[0]!.sound.size;
    await pass(2);
    expect(outputs[0]!.sound.size).toBe(played);
    transport.play();
    await settle();
    expect(outputs[0]!.sound.size).toBeGreaterThan(played);
    expect(Math.abs(transport.position - at)).toBeLessThanOrEqual(1);
  });

  it('seeks while playing, without a trace of the old place', async () => {
    const source = new Ramp(60_000);
    source.isComplete = true;
    const { transport, outputs, pass } = setUp(source);
    transport.play();
    await pass(1);
    transport.seek(40_000);
    const from = outputs[0]!.frame;
    await pass(1);
    expect(transport.status).toBe('playing');
    expect(transport.position).toBeGreaterThan(40_800);
    const later = [...outputs[0]!.sound].filter(([frame]) => frame >= from).map(([, sample]) => sample);
    expect(Math.min(...later)).toBe(40_001);
  });

  it('keeps a seek inside what exists', () => {
    const { transport } = setUp(new Ramp(1000));
    transport.seek(5000);
    expect(transport.position).toBe(1000);
    transport.seek(-3);
    expect(transport.position).toBe(0);
  });

  it('starts over after the end', async () => {
    const source = new Ramp(500);
    source.isComplete = true;
    const { transport, pass } = setUp(source);
    transport.play();
    await pass(1);
    expect(transport.status).toBe('ended');
    transport.play();
    await pass(0.2);
    expect(transport.status).toBe('playing');
    expect(transport.position).toBeLessThan(400);
  });

  it('says when the browser holds sound back', async () => {
    const source = new Ramp(5000);
    const { transport, outputs, pass } = setUp(source);
    transport.play();
    outputs[0]!.blocked = true;
    await pass(0.5);
    expect(transport.status).toBe('blocked');
    outputs[0]!.blocked = false;
    await pass(0.5);
    expect(transport.status).toBe('playing');
  });

  it('opens a new output after the device went away, at the same place', async () => {
    const source = new Ramp(20_000);
    source.isComplete = true;
    const { transport, outputs, pass } = setUp(source);
    transport.setVolume(0.4);
    transport.play();
    await pass(3);
    const at = transport.position;
    outputs[0]!.onLost();
    expect(transport.status).toBe('lost');
    expect(outputs[0]!.closed).toBe(true);
    transport.play();
    await settle();
    expect(outputs).toHaveLength(2);
    expect(outputs[1]!.volume).toBe(0.4);
    expect(Math.abs(transport.position - at)).toBeLessThanOrEqual(1);
  });

  it('plays each recording at its own rate', async () => {
    const { transport, outputs } = setUp(new Ramp(1000));
    transport.play();
    await settle();
    transport.load(new Ramp(1000, 2000));
    transport.play();
    await settle();
    expect(outputs.map((output) => [output.sampleRate, output.closed])).toEqual([
      [1000, true],
      [2000, false],
    ]);
  });
});

import type { OpenOutput, Output } from '../audio/transport.ts';

/** A sound device whose clock the test turns; what was scheduled ends up in `sound`, frame by frame. */
export class FakeOutput implements Output {
  readonly sampleRate: number;
  readonly sound = new Map<number, number>();
  /** Frames that were scheduled twice: blocks that overlapped. */
  overlaps = 0;
  volume = 1;
  frame = 0;
  blocked = false;
  closed = false;
  readonly onLost: () => void;

  constructor(sampleRate: number, onLost: () => void) {
    this.sampleRate = sampleRate;
    this.onLost = onLost;
  }

  now(): number {
    return this.frame;
  }
  suspended(): boolean {
    return this.blocked;
  }
  resume(): void {}
  setVolume(volume: number): void {
    this.volume = volume;
  }
  close(): void {
    this.closed = true;
  }
  open() {
    return {
      schedule: (samples: Float32Array, atFrame: number) => {
        if (!Number.isInteger(atFrame)) throw new RangeError(`Scheduled between two frames: ${atFrame}.`);
        if (atFrame < this.frame) throw new RangeError(`Scheduled ${this.frame - atFrame} frames too late.`);
        for (const [index, sample] of samples.entries()) {
          if (this.sound.has(atFrame + index)) this.overlaps++;
          this.sound.set(atFrame + index, sample);
        }
      },
      stop: () => {
        for (const frame of this.sound.keys()) if (frame >= this.frame) this.sound.delete(frame);
      },
    };
  }
}

export function fakeOutputs(): { outputs: FakeOutput[]; openOutput: OpenOutput } {
  const outputs: FakeOutput[] = [];
  return {
    outputs,
    openOutput: (sampleRate, onLost) => {
      const output = new FakeOutput(sampleRate, onLost);
      outputs.push(output);
      return output;
    },
  };
}

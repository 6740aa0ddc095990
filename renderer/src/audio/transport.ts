/** Where the transport reads from; may still grow. */
export interface PcmSource {
  readonly sampleRate: number;
  readonly frames: number;
  /** No more frames will come. */
  readonly isComplete: boolean;
  read(start: number, count: number): Promise<Float32Array<ArrayBuffer>>;
}

/** The sound device, in frames of its own clock, so that blocks can meet without gap or overlap. */
export interface Output {
  readonly sampleRate: number;
  now(): number;
  /** True while the browser withholds sound until a gesture. */
  suspended(): boolean;
  resume(): void;
  setVolume(volume: number): void;
  open(): OutputSession;
  close(): void;
}

/** One stretch of playing; `stop` fades it out and forgets what was scheduled. */
interface OutputSession {
  schedule(samples: Float32Array<ArrayBuffer>, atFrame: number): void;
  stop(): void;
}

export type OpenOutput = (sampleRate: number, onLost: () => void) => Output;

/**
 * `waiting`: the listener caught up with the engine; `blocked`: the browser wants a gesture first; `lost`: the
 * output device went away, playing opens it anew.
 */
export type TransportStatus = 'idle' | 'playing' | 'waiting' | 'blocked' | 'paused' | 'ended' | 'lost';

export const transportTiming = {
  /** Scheduled ahead, in seconds: timers of a hidden window fire once a second. */
  lookahead: 5,
  block: 2,
  /** From "play" to sound; covers the time to hand the first block over. */
  startDelay: 0.05,
  /** After running dry, wait for this much, so that sound does not stutter word by word. */
  rebuffer: 0.75,
  pumpInterval: 0.25,
} as const;

interface Play {
  session: OutputSession;
  /** Next frame of the source to schedule. */
  cursor: number;
  /** Output frame at which the scheduled audio ends; null: nothing is scheduled, start at once. */
  end: number | null;
  /** Source frame at which this stretch began or ran dry: the position while nothing sounds. */
  held: number;
  blocks: { at: number; frame: number; length: number }[];
  pumping: boolean;
  dry: boolean;
}

interface Timers {
  setInterval(callback: () => void, milliseconds: number): number;
  clearInterval(id: number): void;
}

/** Plays a source that may still grow, without gaps, and says where it is. */
export class Transport {
  #source: PcmSource | null = null;
  #output: Output | null = null;
  #play: Play | null = null;
  #position = 0;
  #status: TransportStatus = 'idle';
  #volume = 1;
  #timer: number | null = null;
  readonly #openOutput: OpenOutput;
  readonly #timers: Timers;
  readonly #onStatus: (status: TransportStatus) => void;

  constructor(openOutput: OpenOutput, onStatus: (status: TransportStatus) => void, timers: Timers) {
    this.#openOutput = openOutput;
    this.#onStatus = onStatus;
    this.#timers = timers;
  }

  get status(): TransportStatus {
    return this.#status;
  }

  /** Source frame that sounds now. */
  get position(): number {
    const play = this.#play;
    if (play === null || this.#output === null) return this.#position;
    const now = this.#output.now();
    for (let i = play.blocks.length - 1; i >= 0; i--) {
      const block = play.blocks[i]!;
      if (block.at <= now) return block.frame + Math.min(block.length, now - block.at);
    }
    return play.held;
  }

  load(source: PcmSource | null, at = 0): void {
    this.#stop();
    this.#source = source;
    this.#position = at;
    this.#setStatus(source === null ? 'idle' : 'paused');
  }

  /** From the current position; from the start when it had come to its end. */
  play(): void {
    if (this.#source === null || this.#play !== null) return;
    if (this.#status === 'ended') this.#position = 0;
    this.#start();
  }

  pause(): void {
    if (this.#play === null) return;
    this.#position = this.position;
    this.#stop();
    this.#setStatus('paused');
  }

  seek(frame: number): void {
    if (this.#source === null) return;
    const target = Math.max(0, Math.min(Math.round(frame), this.#source.frames));
    const playing = this.#play !== null;
    this.#stop();
    this.#position = target;
    if (playing) this.#start();
    else this.#setStatus('paused');
  }

  setVolume(volume: number): void {
    this.#volume = volume;
    this.#output?.setVolume(volume);
  }

  #start(): void {
    const source = this.#source!;
    if (this.#output?.sampleRate !== source.sampleRate) {
      this.#output?.close();
      const output = this.#openOutput(source.sampleRate, () => this.#lost(output));
      this.#output = output;
      output.setVolume(this.#volume);
    }
    const output = this.#output!;
    output.resume();
    this.#play = {
      session: output.open(),
      cursor: this.#position,
      end: null,
      held: this.#position,
      blocks: [],
      pumping: false,
      dry: false,
    };
    this.#timer = this.#timers.setInterval(() => void this.pump(), transportTiming.pumpInterval * 1000);
    this.#setStatus('playing');
    void this.pump();
  }

  /** Schedules what is due. The timer calls it; so does whoever knows that the source has grown. */
  async pump(): Promise<void> {
    const [play, source, output] = [this.#play, this.#source, this.#output];
    if (play === null || source === null || output === null || play.pumping) return;
    play.pumping = true;
    const rate = source.sampleRate;
    try {
      for (;;) {
        const now = output.now();
        if (play.end !== null && play.end <= now && play.cursor >= source.frames) {
          play.held = play.cursor;
          if (source.isComplete) {
            this.#position = source.frames;
            this.#stop();
            this.#setStatus('ended');
            return;
          }
          play.end = null;
          play.blocks = [];
          play.dry = true;
        }
        const available = source.frames - play.cursor;
        if (available <= 0) {
          if (play.end !== null) break;
          if (source.isComplete) {
            this.#position = source.frames;
            this.#stop();
            this.#setStatus('ended');
            return;
          }
          break;
        }
        if (play.dry && !source.isComplete && available < transportTiming.rebuffer * rate) break;
        if (play.end !== null && play.end - now >= transportTiming.lookahead * rate) break;
        const samples = await source.read(play.cursor, Math.min(available, transportTiming.block * rate));
        if (this.#play !== play || samples.length === 0) return;
        const soonest = Math.ceil(output.now() + transportTiming.startDelay * rate);
        // A block that comes late starts late: never on top of what already sounds.
        const at = play.end === null ? soonest : Math.max(play.end, Math.ceil(output.now()));
        play.session.schedule(samples, at);
        play.blocks.push({ at, frame: play.cursor, length: samples.length });
        play.cursor += samples.length;
        play.end = at + samples.length;
        play.dry = false;
      }
      const now = output.now();
      while (play.blocks.length > 1 && play.blocks[1]!.at <= now) play.blocks.shift();
      this.#setStatus(output.suspended() ? 'blocked' : play.end === null ? 'waiting' : 'playing');
    } finally {
      play.pumping = false;
    }
  }

  #lost(output: Output): void {
    if (this.#output !== output) return;
    this.#position = this.position;
    this.#stop();
    this.#output = null;
    output.close();
    this.#setStatus(this.#source === null ? 'idle' : 'lost');
  }

  #stop(): void {
    if (this.#timer !== null) this.#timers.clearInterval(this.#timer);
    this.#timer = null;
    this.#play?.session.stop();
    this.#play = null;
  }

  #setStatus(status: TransportStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    this.#onStatus(status);
  }
}

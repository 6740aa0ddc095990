import type { CallRequest, CallResponse } from '../../contract/index.ts';

type Question = CallRequest<'runtime.timeline'>;
type Timeline = CallResponse<'runtime.timeline'>;

/** Of processes that are gone, so much is kept. */
const keptEvents = 1000;
const keptSamples = 2000;

/** One timeline out of those of processes that follow each other, each of which counts its events from 1. */
export class ContinuedTimeline {
  #past: Pick<Timeline, 'events' | 'samples'> = { events: [], samples: [] };
  /** What the events of the running process are moved by. */
  #offset = 0;
  #lastId = 0;

  /** What to ask the running process. */
  question({ after, since }: Question): Question {
    return { after: Math.max(0, after - this.#offset), since };
  }

  /** The running process's answer, and what those before it left. */
  answer({ after, since }: Question, timeline: Timeline): Timeline {
    const now = this.#moved(timeline);
    const events = [...this.#past.events, ...now.events].filter(({ id }) => id > after);
    const samples = [...this.#past.samples.filter(({ at }) => at > since), ...now.samples];
    return { ...timeline, events, samples };
  }

  /** The running process is gone; `last`: all it had to say, null where it could not. */
  end(last: Timeline | null): void {
    if (last !== null) {
      const { events, samples } = this.#moved(last);
      this.#past = {
        events: [...this.#past.events, ...events].slice(-keptEvents),
        samples: [...this.#past.samples, ...samples].slice(-keptSamples),
      };
    }
    this.#offset = this.#lastId;
  }

  #moved({ events, samples }: Timeline): Pick<Timeline, 'events' | 'samples'> {
    const moved = events.map((event) => ({ ...event, id: event.id + this.#offset }));
    this.#lastId = Math.max(this.#lastId, ...moved.map(({ id }) => id));
    return { events: moved, samples };
  }
}

import type {
  CallInput,
  CallName,
  CallResponse,
  EventData,
  EventName,
  ShellBridge,
} from '../../../main/contract/calls.ts';
import { StudioError } from '../../../main/contract/errors.ts';
import type { LinkState, StudioBridge } from './types.ts';

type Answers = { [N in CallName]?: (request: CallInput<N>) => CallResponse<N> | Promise<CallResponse<N>> };

/** A bridge whose other end is the test: answers as told, sends what it is told to, remembers what was asked. */
export class FakeHost implements StudioBridge {
  readonly asked: { name: CallName; request: unknown }[] = [];
  readonly answers: Answers;
  readonly shell: ShellBridge['shell'];
  saved: { job_id: string; suggested_name: string }[] = [];
  savedTraces: string[] = [];
  savedAs: { path: string } | null = { path: '/home/sora/Music/hello.wav' };
  onLink?: NonNullable<StudioBridge['onLink']>;
  readonly #listeners = new Map<EventName, Set<(data: never) => void>>();
  readonly #linkListeners = new Set<(state: LinkState) => void>();

  constructor(answers: Answers, shell: Partial<ShellBridge['shell']> = {}) {
    this.answers = answers;
    this.shell = { kind: 'electron', platform: 'linux', locale: 'en-US', version: '0.1.0', ...shell };
  }

  async call<N extends CallName>(name: N, request: CallInput<N>): Promise<CallResponse<N>> {
    this.asked.push({ name, request });
    const answer = this.answers[name] as ((request: CallInput<N>) => CallResponse<N>) | undefined;
    if (answer === undefined)
      throw new StudioError('invalid_request', `The script has no answer to ${name}.`);
    return answer(request);
  }

  on<N extends EventName>(name: N, listener: (data: EventData<N>) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener));
    return () => {
      set.delete(listener);
    };
  }

  emit<N extends EventName>(name: N, data: EventData<N>): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(data as never);
  }

  /** From now on the link can drop, as in a browser. */
  withLink(): this {
    this.onLink = (listener) => {
      this.#linkListeners.add(listener);
      return () => {
        this.#linkListeners.delete(listener);
      };
    };
    return this;
  }

  setLink(state: LinkState): void {
    for (const listener of this.#linkListeners) listener(state);
  }

  async saveAudio(request: { job_id: string; suggested_name: string }): Promise<{ path: string } | null> {
    this.saved.push(request);
    return this.savedAs;
  }

  async saveTrace({ suggested_name }: { suggested_name: string }): Promise<{ path: string } | null> {
    this.savedTraces.push(suggested_name);
    return this.savedAs === null ? null : { path: `/home/sora/Documents/${suggested_name}` };
  }

  async openExternal(): Promise<void> {}
}

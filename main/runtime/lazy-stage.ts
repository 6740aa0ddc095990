import type { StageFailure } from '../memory/stages.ts';

/** The body of a stage yields (async iterable) or returns (promise). */
export type StageBody<T> = () => AsyncIterable<T> | Promise<T>;

/** What happens when the body is over. `failure`: what it threw, null where nobody wanted its remaining values. */
export interface StageEnd {
  end(failure: StageFailure | null): Promise<void>;
  /** After `end`, for what the body threw: what the caller should see instead. */
  explain(error: unknown): Promise<unknown>;
}

/**
 * Runs `body` between `begin` and `end`, when the result is awaited or iterated and not before: only then is it known
 * whether the body's value is one or many.
 */
export class LazyStage<T> implements AsyncIterable<T>, PromiseLike<T> {
  readonly #begin: () => Promise<StageEnd>;
  readonly #body: StageBody<T>;
  #result: Promise<T> | null = null;

  constructor(body: StageBody<T>, begin: () => Promise<StageEnd>) {
    this.#body = body;
    this.#begin = begin;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    const stage = await this.#begin();
    let failure: StageFailure | null = { error: null };
    let thrown: StageFailure | null = null;
    try {
      const values = this.#body();
      if (!(Symbol.asyncIterator in values)) {
        throw new TypeError('A stage that is iterated needs a body that yields.');
      }
      yield* values;
      failure = null;
    } catch (error) {
      thrown = { error };
      failure = thrown;
    } finally {
      // Also where the caller stops asking for values.
      await stage.end(failure);
    }
    if (thrown !== null) throw await stage.explain(thrown.error);
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting the stage is what starts it
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#once();
    return this.#result.then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }

  finally(settled?: (() => void) | null): Promise<T> {
    this.#result ??= this.#once();
    return this.#result.finally(settled);
  }

  get [Symbol.toStringTag](): string {
    return 'Stage';
  }

  async #once(): Promise<T> {
    const stage = await this.#begin();
    let result: T;
    try {
      const value = this.#body();
      if (Symbol.asyncIterator in value) {
        throw new TypeError('A stage whose body yields has to be iterated, not awaited.');
      }
      result = await value;
    } catch (error) {
      await stage.end({ error });
      throw await stage.explain(error);
    }
    await stage.end(null);
    return result;
  }
}

/**
 * Yields what `source` yields, having asked for the next value already: producer and consumer work at the same time,
 * one value apart. Leaving early waits for the value in work and closes the source.
 */
export async function* oneAhead<T>(source: AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
  let next = ask(source);
  try {
    for (;;) {
      const result = await next;
      if (result.done) return;
      next = ask(source);
      yield result.value;
    }
  } finally {
    await next.catch(() => {});
    await source.return();
  }
}

/** Its error counts only if somebody waits for the value. */
function ask<T>(source: AsyncGenerator<T, void, void>): Promise<IteratorResult<T, void>> {
  const next = source.next();
  next.catch(() => {});
  return next;
}

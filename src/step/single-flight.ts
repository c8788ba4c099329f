/** What joining came to: the shared work's outcome and whether it was begun for this caller, or the caller left. */
export type Joined<T> =
  | { readonly kind: 'done'; readonly value: T; readonly led: boolean }
  | { readonly kind: 'left' };

interface Flight<T> {
  readonly work: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Lets callers that want the same work at the same time share it. Work belongs to nobody: a caller who leaves
 * (`signal`) takes nothing from the others, and only when all have left is it ended. Bounded by its callers.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Joins the work under way for `key`, or begins it. Rejects as the work does. */
  async join(
    key: string,
    begin: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Joined<T>> {
    if (signal.aborted) {
      return { kind: 'left' };
    }
    const known = this.#flights.get(key);
    const flight = known ?? this.#begin(key, begin);
    flight.waiting += 1;
    let there = true;
    const leave = (): void => {
      flight.waiting -= there ? 1 : 0;
      there = false;
      if (flight.waiting === 0) {
        // Before it has ended: the next caller must not join work that is being given up.
        this.#forget(key, flight);
        flight.controller.abort(new DOMException('every caller has left', 'AbortError'));
      }
    };
    let onAbort = leave;
    const left = new Promise<Joined<T>>((resolve) => {
      onAbort = () => {
        leave();
        resolve({ kind: 'left' });
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([
        flight.work.then((value): Joined<T> => ({ kind: 'done', value, led: known === undefined })),
        left,
      ]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      leave();
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const flight: Flight<T> = { work: begin(controller.signal), controller, waiting: 0 };
    this.#flights.set(key, flight);
    const forget = (): void => this.#forget(key, flight);
    flight.work.then(forget, forget);
    return flight;
  }

  #forget(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) {
      this.#flights.delete(key);
    }
  }
}

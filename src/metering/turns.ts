/** Lets `concurrency` tasks run at once; further ones wait in order. */
export interface Turns {
  /** Runs `task` in its turn. Throws what `refuse` makes when `limit` tasks are waiting already. */
  take<T>(task: () => Promise<T>): Promise<T>;
}

/**
 * A bounded first-in, first-out queue. It keeps one slow holder of the store's lock from being asked by every
 * waiting request at once: only the head asks.
 */
export function createTurns(concurrency: number, limit: number, refuse: () => Error): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async take(task) {
      if (running >= concurrency) {
        // At the bound the caller is refused at once rather than after a wait that others are ahead in.
        if (waiting.length >= limit) throw refuse();
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await task();
      } finally {
        // The place is handed over rather than freed, so that a newcomer cannot overtake the queue.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}

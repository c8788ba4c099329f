import { setTimeout as delay } from 'node:timers/promises';

/** What is in work, for a service that is to stop: it takes nothing new, and waits for what it has. */
export interface Drain {
  /** Whether the service is stopping. */
  readonly begun: boolean;
  begin(): void;
  /** Something is in work until what this answers is called. */
  hold(): () => void;
  /** Resolves when nothing is in work, after `ms` milliseconds at the latest. */
  idle(ms: number): Promise<void>;
}

/** Bounded by the requests in work, which connections and bytes bound. */
export function createDrain(): Drain {
  let begun = false;
  let held = 0;
  const waiters: (() => void)[] = [];
  return {
    get begun() {
      return begun;
    },
    begin: () => {
      begun = true;
    },
    hold: () => {
      let open = true;
      held += 1;
      return () => {
        if (open) {
          open = false;
          held -= 1;
        }
        if (held === 0) {
          for (const resolve of waiters.splice(0)) {
            resolve();
          }
        }
      };
    },
    idle: async (ms) => {
      if (held === 0) {
        return;
      }
      const late = new AbortController();
      const empty = new Promise<void>((resolve) => {
        waiters.push(resolve);
      });
      await Promise.race([empty, delay(ms, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
    },
  };
}

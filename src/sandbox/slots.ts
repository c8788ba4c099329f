import { once } from './once.ts';

/** What asking for a slot comes to. `taken`: call `release` once, when the run is over. */
export type SlotTake =
  | { readonly kind: 'taken'; release(): void }
  | { readonly kind: 'full' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'closed' };

export interface SlotOptions {
  /** Runs at a time. */
  readonly size: number;
  /** Runs that may wait; the next one is `full` at once. */
  readonly queueLimit: number;
  /** Told after every change. */
  readonly onChange?: (running: number, waiting: number) => void;
}

interface Waiter {
  readonly key: string;
  readonly give: (take: SlotTake) => void;
}

/**
 * A bounded number of runs at a time, and a bounded queue before it: first come, first served within a tenant,
 * tenants in turn, so that one tenant's burst does not starve another. A waiter leaves when its signal is aborted.
 */
export class Slots {
  readonly #options: SlotOptions;
  /** One line a tenant that has waiters; the map's order is the turn. */
  readonly #lines = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;
  #closed = false;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a slot for a tenant, or waits for one until `signal` is aborted. */
  take(tenant: string, signal: AbortSignal): Promise<SlotTake> {
    if (this.#closed) {
      return Promise.resolve({ kind: 'closed' });
    }
    if (signal.aborted) {
      return Promise.resolve({ kind: 'aborted' });
    }
    if (this.#running < this.#options.size) {
      return Promise.resolve(this.#occupy());
    }
    if (this.#waiting >= this.#options.queueLimit) {
      return Promise.resolve({ kind: 'full' });
    }
    return new Promise((resolve) => {
      const onAbort = (): void => {
        this.#leave(waiter);
        waiter.give({ kind: 'aborted' });
      };
      const waiter: Waiter = {
        key: tenant,
        give: (take) => {
          signal.removeEventListener('abort', onAbort);
          resolve(take);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#lines.set(tenant, [...(this.#lines.get(tenant) ?? []), waiter]);
      this.#waiting += 1;
      this.#changed();
    });
  }

  /** Sends everybody who waits away and gives no more slots; runs under way keep theirs. */
  close(): void {
    this.#closed = true;
    const waiters = [...this.#lines.values()].flat();
    this.#lines.clear();
    this.#waiting = 0;
    for (const waiter of waiters) {
      waiter.give({ kind: 'closed' });
    }
    this.#changed();
  }

  #occupy(): SlotTake {
    this.#running += 1;
    this.#changed();
    return {
      kind: 'taken',
      release: once(() => {
        this.#running -= 1;
        this.#next()?.give(this.#occupy());
        this.#changed();
      }),
    };
  }

  #next(): Waiter | undefined {
    const [turn] = this.#lines;
    if (turn === undefined) {
      return undefined;
    }
    const [tenant, [first, ...rest]] = turn;
    this.#lines.delete(tenant);
    if (rest.length > 0) {
      this.#lines.set(tenant, rest);
    }
    this.#waiting -= 1;
    return first;
  }

  #leave(waiter: Waiter): void {
    const rest = (this.#lines.get(waiter.key) ?? []).filter((other) => other !== waiter);
    if (rest.length > 0) {
      this.#lines.set(waiter.key, rest);
    } else {
      this.#lines.delete(waiter.key);
    }
    this.#waiting -= 1;
    this.#changed();
  }

  #changed(): void {
    this.#options.onChange?.(this.#running, this.#waiting);
  }
}

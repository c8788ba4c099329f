import { setMaxListeners } from 'node:events';
import { type Clock, elapsedMs } from '../clock.ts';
import { Breaker } from './breaker.ts';
import type { ReadyContainer } from './container.ts';
import { toEngineError } from './engine-call.ts';
import type { Fleet, Place } from './fleet.ts';
import type { SandboxObserver } from './observer.ts';

/** What asking for a container comes to. */
export type ContainerTake =
  | { readonly kind: 'taken'; readonly container: ReadyContainer }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'unavailable'; readonly detail: string };

export interface PoolOptions {
  /** Ready containers to keep in stock; 0 starts each one when it is asked for. */
  readonly size: number;
  /** Containers there may be at once, those being removed included; past it starts wait. */
  readonly maxContainers: number;
  /** A container that waited longer is replaced, well before its label expires. */
  readonly maxIdleMs: number;
  readonly clock: Clock;
  readonly observer: SandboxObserver;
  readonly fleet: Fleet;
  /** Starts one container in this place, or gives the place back and rejects with an EngineError. */
  readonly launch: (place: Place, signal: AbortSignal) => Promise<ReadyContainer>;
}

/**
 * What was taken is made up for when the run it was taken for is over (its removal frees a place), at the latest after
 * this: on few cores a start beside a run makes a step of five milliseconds one of fifteen. An empty stock waits less
 * long, and who waits for a container not at all.
 */
const REFILL_DELAY_MS = 250;
const REFILL_EMPTY_DELAY_MS = 25;
/** Starts at a time for the stock: more are no faster, as the engine works one after another on most of a start. */
const REFILL_WORKERS = 4;

interface Waiter {
  readonly give: (take: ContainerTake) => void;
}

/**
 * Hands out started containers that are used once: from the stock if there is one, else the next that becomes
 * ready. Refills in the background with backoff and a breaker. Call `refill` when the fleet has a free place.
 * Who waits is bounded by the run slots before it, and leaves when its signal is aborted.
 */
export class ContainerPool {
  readonly #options: PoolOptions;
  readonly #breaker: Breaker;
  readonly #closing = new AbortController();
  /** Ready and unused, oldest first, each with the timer that replaces it. */
  readonly #stock = new Map<ReadyContainer, NodeJS.Timeout>();
  readonly #waiters: Waiter[] = [];
  readonly #starts = new Set<Promise<void>>();
  #starting = 0;
  #retry: NodeJS.Timeout | null = null;
  #retryAtMs = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    // One a call of each start under way, and those are bounded: more than ten is no leak.
    setMaxListeners(0, this.#closing.signal);
    this.#breaker = new Breaker(options.clock);
  }

  get ready(): number {
    return this.#stock.size;
  }

  get starting(): number {
    return this.#starting;
  }

  /**
   * Why containers do not start, or null. With a stock, which tries again and again, it holds until one has started: a
   * pause that is over proves nothing. Without one only the next run can try.
   */
  get fault(): string | null {
    return this.#options.size > 0 ? this.#breaker.lastDetail : this.#breaker.openDetail;
  }

  take(signal: AbortSignal): Promise<ContainerTake> {
    if (signal.aborted) {
      return Promise.resolve({ kind: 'aborted' });
    }
    for (const container of this.#stock.keys()) {
      this.#unstock(container);
      if (container.alive) {
        this.#refillIn(this.#stock.size > 0 ? REFILL_DELAY_MS : REFILL_EMPTY_DELAY_MS);
        return Promise.resolve({ kind: 'taken', container });
      }
    }
    const broken = this.#closing.signal.aborted ? 'the sandbox is closing' : this.#breaker.openDetail;
    if (broken !== null) {
      return Promise.resolve({ kind: 'unavailable', detail: broken });
    }
    return new Promise((resolve) => {
      const onAbort = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        waiter.give({ kind: 'aborted' });
      };
      const waiter: Waiter = {
        give: (take) => {
          signal.removeEventListener('abort', onAbort);
          resolve(take);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.push(waiter);
      this.refill();
    });
  }

  /** Starts what is missing, as far as there are places. Waiters come before the stock, and before a backoff. */
  refill(): void {
    const { size, maxContainers, fleet } = this.#options;
    while (!this.#closing.signal.aborted && fleet.size < maxContainers) {
      const forWaiters = this.#starting < this.#waiters.length;
      const forStock =
        this.#starting < REFILL_WORKERS && this.#starting + this.#stock.size < size + this.#waiters.length;
      if (!forWaiters && !forStock) {
        break;
      }
      if (!forWaiters && this.#breaker.pauseMs > 0) {
        this.#refillIn(this.#breaker.pauseMs + 1);
        break;
      }
      this.#launchOne();
    }
  }

  /** What was broken works again: no need to wait for the end of a pause. */
  recovered(): void {
    this.#breaker.succeeded();
    this.refill();
  }

  /** Refuses who waits, begins to remove the stock, and resolves when no start is under way any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#retry !== null) {
      clearTimeout(this.#retry);
    }
    for (const waiter of this.#waiters.splice(0)) {
      waiter.give({ kind: 'unavailable', detail: 'the sandbox is closing' });
    }
    for (const container of [...this.#stock.keys()]) {
      this.#unstock(container);
      void container.retire();
    }
    await Promise.all(this.#starts);
  }

  #launchOne(): void {
    const start = this.#start().finally(() => this.#starts.delete(start));
    this.#starts.add(start);
  }

  async #start(): Promise<void> {
    const { clock, observer, fleet, launch } = this.#options;
    const startNs = clock.monotonicNs();
    this.#setStarting(this.#starting + 1);
    try {
      const container = await launch(fleet.reserve(), this.#closing.signal);
      observer.containerStart('ok', elapsedMs(clock, startNs));
      this.#breaker.succeeded();
      this.#setStarting(this.#starting - 1);
      this.#offer(container);
    } catch (error) {
      if (this.#closing.signal.aborted) {
        // Called off, and nobody's fault: whoever reads of a failed start would look for one.
        this.#setStarting(this.#starting - 1);
        return;
      }
      const { fault, message } = toEngineError(error);
      const outcome = fault === 'timeout' || fault === 'cancelled' ? fault : 'failed';
      observer.containerStart(outcome, elapsedMs(clock, startNs));
      this.#setStarting(this.#starting - 1);
      this.#fail(message);
    }
    this.refill();
  }

  #offer(container: ReadyContainer): void {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.give({ kind: 'taken', container });
    } else if (this.#closing.signal.aborted || this.#stock.size >= this.#options.size) {
      // Started for somebody who has left since.
      void container.retire();
    } else {
      const timer = setTimeout(() => this.#discard(container), this.#options.maxIdleMs);
      timer.unref();
      this.#stock.set(container, timer);
      this.#options.observer.containers('ready', this.#stock.size);
      void container.ended.then(() => {
        if (this.#stock.has(container)) {
          // An idle container does not end by itself: the engine is in trouble, so no haste to start the next.
          this.#breaker.failed('a waiting container ended');
          this.#discard(container);
        }
      });
    }
  }

  #fail(detail: string): void {
    this.#breaker.failed(detail);
    const refused = this.#breaker.openDetail === null ? this.#waiters.splice(0, 1) : this.#waiters.splice(0);
    for (const waiter of refused) {
      waiter.give({ kind: 'unavailable', detail });
    }
  }

  #discard(container: ReadyContainer): void {
    this.#unstock(container);
    void container.retire();
    this.refill();
  }

  #unstock(container: ReadyContainer): void {
    clearTimeout(this.#stock.get(container));
    this.#stock.delete(container);
    this.#options.observer.containers('ready', this.#stock.size);
  }

  #setStarting(count: number): void {
    this.#starting = count;
    this.#options.observer.containers('starting', count);
  }

  /** One timer for all. Refilling sets the next by itself, so of two the earlier is enough. */
  #refillIn(ms: number): void {
    const atMs = performance.now() + ms;
    if (this.#retry !== null && this.#retryAtMs <= atMs) {
      return;
    }
    clearTimeout(this.#retry ?? undefined);
    this.#retryAtMs = atMs;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.refill();
    }, ms);
    this.#retry.unref();
  }
}

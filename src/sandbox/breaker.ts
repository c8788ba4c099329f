import type { Clock } from '../clock.ts';

/** Pause after the first failure; doubled with each further one. */
const FIRST_PAUSE_MS = 200;
/** Longest pause: how long a repaired engine may go unnoticed. */
const LONGEST_PAUSE_MS = 10_000;
/** A start can fail by chance; so many in a row mean that something is broken. */
const OPENS_AFTER = 3;

/**
 * Backoff for starting containers, and a breaker: after a few failures in a row nothing is started until the pause
 * is over, and who would wait for a start is refused at once. Without it a broken profile is retried for ever.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #untilNs = 0n;
  #lastDetail = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the next try is due; 0 when it is. */
  get pauseMs(): number {
    const left = Number(this.#untilNs - this.#clock.monotonicNs()) / 1e6;
    return this.#failures === 0 || left <= 0 ? 0 : Math.ceil(left);
  }

  /** The last failure's text while nothing may be started, else null. */
  get openDetail(): string | null {
    return this.pauseMs > 0 ? this.lastDetail : null;
  }

  /** The last failure's text until something has started, else null; a few failures are chance, and none. */
  get lastDetail(): string | null {
    return this.#failures >= OPENS_AFTER ? this.#lastDetail : null;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(detail: string): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS);
    this.#failures += 1;
    this.#lastDetail = detail;
    this.#untilNs = this.#clock.monotonicNs() + BigInt(pauseMs) * 1_000_000n;
  }
}

/** A breaker's word before a request: go on, or stay away for so long. */
export type BreakerState =
  | { readonly open: false; readonly probe?: true }
  | { readonly open: true; readonly retryAfterMs: number };

interface Entry {
  failures: number;
  openUntilMs: number;
  probing: boolean;
}

/** Steps in a row that end in connection failures or 502, 503, 504 before a webhook is left alone. */
const FAILURES_TO_OPEN = 10;
const OPEN_MS = 15_000;

/** Webhooks remembered; at the bound the one longest without a failure is forgotten and counts from zero. */
const MAX_ENTRIES = 1_000;

/**
 * Leaves a webhook alone that fails again and again, then lets one step through to probe it. Keyed by the
 * caller (origin and path: one tenant's broken path must not close a host that others share).
 */
export class CircuitBreaker {
  readonly #entries = new Map<string, Entry>();

  /**
   * Asks before a step; an answer `open: false` must be followed by `succeeded` or `failed`, or by `released` with that
   * answer.
   */
  enter(key: string, nowMs: number): BreakerState {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.failures < FAILURES_TO_OPEN) return { open: false };
    if (nowMs < entry.openUntilMs) return { open: true, retryAfterMs: entry.openUntilMs - nowMs };
    if (entry.probing) return { open: true, retryAfterMs: OPEN_MS };
    entry.probing = true;
    return { open: false, probe: true };
  }

  succeeded(key: string): void {
    this.#entries.delete(key);
  }

  failed(key: string, nowMs: number): void {
    const entry = this.#entries.get(key) ?? { failures: 0, openUntilMs: 0, probing: false };
    entry.failures += 1;
    entry.openUntilMs = nowMs + OPEN_MS;
    entry.probing = false;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MAX_ENTRIES) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
  }

  /** The step ended without saying anything about the webhook: cancelled, out of time. */
  released(key: string, entered: BreakerState): void {
    const entry = this.#entries.get(key);
    // Not of a step that came before the breaker opened: another one is the probe.
    if (entry !== undefined && 'probe' in entered) entry.probing = false;
  }
}

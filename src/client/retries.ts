import { ComputeStepConnectionError, ComputeStepProblem } from './problem.ts';

/** What one attempt passes on to the client's method. */
export interface Attempt {
  /** The same in every attempt: what the service did already, it does not do again. */
  readonly idempotencyKey: string;
  /** Aborts with the caller's own signal and at the deadline. */
  readonly signal: AbortSignal;
}

export interface RetryOptions {
  /** All attempts and waits together, in milliseconds. A wait that would go past it is not begun. */
  readonly deadlineMs: number;
  /** Attempts in all, 5 by default. Asking again for an answer that is still being made is not one. */
  readonly maxAttempts?: number | undefined;
  /** Left out: a random one. Give one that is kept with the plan, and a restarted plan is not charged twice. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told before each wait. */
  readonly onRetry?: ((error: Error, waitMs: number) => void) | undefined;
  /** For tests. */
  readonly wait?: ((waitMs: number, signal: AbortSignal) => Promise<void>) | undefined;
  readonly random?: (() => number) | undefined;
}

/** A timer takes no more and fires at once instead: 24 days, or what was meant as no limit. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const SHORTEST_WAIT_MS = 100;

/**
 * Calls until there is an answer: again after a problem that is `retryable`, no sooner than it says, and after a lost
 * connection; each time with the same Idempotency-Key, so that nothing runs or counts twice. Otherwise, and where the
 * deadline leaves no time (a spent quota opens next month), it throws what the last attempt threw. A Computation is an
 * answer, whatever its state.
 */
export async function withRetries<T>(
  call: (attempt: Attempt) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { signal: callers, maxAttempts = MAX_ATTEMPTS, wait = waited, random = Math.random } = options;
  callers?.throwIfAborted();
  const endsAt = performance.now() + options.deadlineMs;
  const ending = new AbortController();
  const hangUp = () => ending.abort(callers?.reason);
  callers?.addEventListener('abort', hangUp, { once: true });
  const timer = setTimeout(
    () =>
      ending.abort(new ComputeStepConnectionError('timeout', `no answer within ${options.deadlineMs} ms`)),
    Math.min(options.deadlineMs, LONGEST_TIMER_MS),
  );
  const attempt = { idempotencyKey: options.idempotencyKey ?? randomKey(), signal: ending.signal };
  try {
    for (let failed = 0; ; ) {
      try {
        return await call(attempt);
      } catch (error) {
        if (!mayRetry(error) || ending.signal.aborted) throw error;
        failed += error instanceof ComputeStepProblem && error.code === 'idempotency_in_flight' ? 0 : 1;
        const waitMs = waitFor(error, failed, random);
        if (failed >= maxAttempts || performance.now() + waitMs >= endsAt) throw error;
        options.onRetry?.(error, waitMs);
        await wait(waitMs, ending.signal);
      }
    }
  } finally {
    clearTimeout(timer);
    callers?.removeEventListener('abort', hangUp);
  }
}

/**
 * A kept answer stays as it is under this key, and a new key could count twice. A 3xx or 4xx that the service did not
 * send is the wrong address: it stays wrong.
 */
function mayRetry(error: unknown): error is ComputeStepProblem | ComputeStepConnectionError {
  return (
    (error instanceof ComputeStepProblem && error.retryable && !error.replayed) ||
    (error instanceof ComputeStepConnectionError &&
      (error.reason !== 'answer' || (error.status !== null && error.status >= 500)))
  );
}

/** What the service says, and a little more so that waiting callers do not come back as one; else full jitter. */
function waitFor(error: Error, failed: number, random: () => number): number {
  const said = error instanceof ComputeStepProblem ? error.retryAfterSeconds : null;
  if (said !== null) {
    return Math.max(0, said) * 1000 + SHORTEST_WAIT_MS + random() * FIRST_WAIT_MS;
  }
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failed - 1));
  return SHORTEST_WAIT_MS + random() * most;
}

/** In as many timers as it takes: a quota may open in 31 days, and a single one would fire at once. */
async function waited(waitMs: number, signal: AbortSignal): Promise<void> {
  for (let left = waitMs; left > 0; left -= LONGEST_TIMER_MS) {
    await oneTimer(Math.min(left, LONGEST_TIMER_MS), signal);
  }
}

function oneTimer(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // Whoever was told of the retry may have aborted it.
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, waitMs);
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** 128 random bits as hex; `crypto.randomUUID` is not there on a plain-http page. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

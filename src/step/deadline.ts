import { type Problem, problem } from '../contract/problem.ts';

/**
 * The one signal of a request: aborted with a `TimeoutError` when its deadline passes, with anything else when
 * the caller hangs up.
 */
export interface RequestSignal {
  readonly signal: AbortSignal;
  /** Brings the deadline forward to `timeoutMs` after the start; it never moves back. */
  shorten(timeoutMs: number): void;
  /** The caller hung up. */
  cancel(): void;
  /** Stops the timer. */
  done(): void;
}

/** Starts the deadline of a request, `timeoutMs` from now. */
export function requestSignal(timeoutMs: number): RequestSignal {
  const controller = new AbortController();
  const startedMs = performance.now();
  const expire = (): void => controller.abort(new DOMException('the deadline passed', 'TimeoutError'));
  let timer = setTimeout(expire, timeoutMs);
  return {
    signal: controller.signal,
    shorten: (ms) => {
      if (ms < timeoutMs) {
        clearTimeout(timer);
        timer = setTimeout(expire, Math.max(0, ms - (performance.now() - startedMs)));
      }
    },
    cancel: () => controller.abort(new DOMException('the caller hung up', 'AbortError')),
    done: () => clearTimeout(timer),
  };
}

/** The problem of a request that has ended, or null while it has not. Asked after every wait. */
export function deadlinePassed(signal: AbortSignal, detail: string): Problem | null {
  return signal.aborted ? problem('deadline_exceeded', detail) : null;
}

/** Whether a signal was ended by the deadline, not by the caller. */
export function isDeadline(signal: AbortSignal): boolean {
  return signal.aborted && (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError';
}

import { abortedByDeadline } from './abort.ts';
import type { RunReport } from './port.ts';

/** Runs under way and what ends each. How many there may be is for who starts them to bound. */
export class RunsUnderWay {
  readonly #runs = new Map<Promise<RunReport>, AbortController>();
  #closed = false;

  get size(): number {
    return this.#runs.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Starts a run under a signal that its caller aborts, or `close`. */
  start(caller: AbortSignal, run: (signal: AbortSignal) => Promise<RunReport>): Promise<RunReport> {
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(caller.reason);
    if (caller.aborted) {
      onAbort();
    }
    caller.addEventListener('abort', onAbort, { once: true });
    const running = run(stop.signal).finally(() => {
      caller.removeEventListener('abort', onAbort);
      this.#runs.delete(running);
    });
    this.#runs.set(running, stop);
    return running;
  }

  /** Aborts every run, and resolves when all have ended. What is started from then on is `interrupted`. */
  async close(): Promise<void> {
    this.#closed = true;
    const runs = [...this.#runs];
    for (const [, stop] of runs) {
      stop.abort(new Error('the sandbox is closing'));
    }
    await Promise.allSettled(runs.map(([running]) => running));
  }

  /** What a run whose signal is aborted before it had a container ends as. */
  interrupted(signal: AbortSignal): RunReport {
    if (this.#closed) {
      return notStarted('sandbox_unavailable', 'the sandbox is closing');
    }
    return abortedByDeadline(signal)
      ? notStarted('deadline_exceeded', 'the deadline passed before a container was free')
      : notStarted('cancelled', 'the caller left before a container was free');
  }
}

/** A run that did not begin: nothing of it was sent to a container, and it does not count. */
export function notStarted(
  reason: Extract<RunReport, { kind: 'notStarted' }>['reason'],
  detail: string,
): Extract<RunReport, { kind: 'notStarted' }> {
  return { kind: 'notStarted', reason, detail };
}

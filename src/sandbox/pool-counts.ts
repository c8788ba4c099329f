import type { LifePhase, SandboxObserver, StartOutcome } from './observer.ts';

/** Counts that the process which holds the engine has to tell. Nothing in them is of a request. */
export interface PoolCounts {
  /** Of the process whose counts they are: another one's began at 0 again. */
  readonly instance: string;
  readonly containers: Readonly<Record<LifePhase, number>>;
  readonly queueDepth: number;
  readonly running: number;
  /** Since the process began. */
  readonly starts: Readonly<Record<StartOutcome, number>>;
  /** Since the process began. */
  readonly removalFailures: number;
}

/** An observer that keeps counts and tells `next` all it is told; `counts` is as of now. */
export function countingObserver(
  instance: string,
  next: SandboxObserver,
): { readonly observer: SandboxObserver; counts(): PoolCounts } {
  const containers: Record<LifePhase, number> = { starting: 0, ready: 0, running: 0, removing: 0 };
  const starts: Record<StartOutcome, number> = { ok: 0, failed: 0, timeout: 0, cancelled: 0 };
  let removalFailures = 0;
  let queueDepth = 0;
  let running = 0;
  const observer: SandboxObserver = {
    containerStart(outcome, ms) {
      starts[outcome] += 1;
      next.containerStart(outcome, ms);
    },
    removalFailed() {
      removalFailures += 1;
      next.removalFailed();
    },
    containers(phase, count) {
      containers[phase] = count;
      next.containers(phase, count);
    },
    queueDepth(count) {
      queueDepth = count;
      next.queueDepth(count);
    },
    running(count) {
      running = count;
      next.running(count);
    },
    daemonActivity: (more, failures) => next.daemonActivity(more, failures),
    unexpected: (where, error) => next.unexpected(where, error),
  };
  const counts = (): PoolCounts => ({
    instance,
    containers: { ...containers },
    queueDepth,
    running,
    starts: { ...starts },
    removalFailures,
  });
  return { observer, counts };
}

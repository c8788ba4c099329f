import { CONTAINER_PHASES, type SandboxObserver, START_OUTCOMES, type StartOutcome } from './observer.ts';
import type { PoolCounts } from './pool-counts.ts';

type Starts = Record<StartOutcome, number>;
type Sums = Pick<PoolCounts, 'instance' | 'starts' | 'removalFailures'>;

/**
 * Tells an observer in this process what a daemon has counted in its own. Sums never fall: what a restarted daemon
 * counts is added to what its predecessors had, and a daemon whose counts go back is taken at the most it said.
 * What happened between the last look at a daemon and its end is lost.
 */
export class DaemonCounts {
  readonly #observer: SandboxObserver;
  #told: Sums | null = null;

  constructor(observer: SandboxObserver) {
    this.#observer = observer;
  }

  /** Null: the daemon does not answer, or does not count. Then it has no containers that are known of. */
  take(counts: PoolCounts | null): void {
    const observer = this.#observer;
    for (const phase of CONTAINER_PHASES) {
      observer.containers(phase, counts?.containers[phase] ?? 0);
    }
    observer.queueDepth(counts?.queueDepth ?? 0);
    observer.running(counts?.running ?? 0);
    if (counts !== null) {
      this.#add(counts);
    }
  }

  #add({ instance, starts, removalFailures }: PoolCounts): void {
    const told = this.#told?.instance === instance ? this.#told : null;
    const more: Starts = { ok: 0, failed: 0, timeout: 0, cancelled: 0 };
    const most: Starts = { ok: 0, failed: 0, timeout: 0, cancelled: 0 };
    for (const outcome of START_OUTCOMES) {
      const before = told?.starts[outcome] ?? 0;
      most[outcome] = Math.max(before, starts[outcome]);
      more[outcome] = most[outcome] - before;
    }
    const failuresBefore = told?.removalFailures ?? 0;
    const failures = Math.max(failuresBefore, removalFailures);
    this.#told = { instance, starts: most, removalFailures: failures };
    this.#observer.daemonActivity(more, failures - failuresBefore);
  }
}

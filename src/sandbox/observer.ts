/** How starting a container ended. */
export const START_OUTCOMES = ['ok', 'failed', 'timeout', 'cancelled'] as const;
export type StartOutcome = (typeof START_OUTCOMES)[number];
/** Where a container of this instance is in its life. */
export const CONTAINER_PHASES = ['starting', 'ready', 'running', 'removing'] as const;
export type LifePhase = (typeof CONTAINER_PHASES)[number];

/** What the sandbox tells whoever watches, for metrics. Every method returns at once and never throws. */
export interface SandboxObserver {
  containerStart(outcome: StartOutcome, ms: number): void;
  /** Removing a container was given up after its retries; the reaper takes it next. */
  removalFailed(): void;
  /** Starts and failed removals in the sandbox daemon since it was heard of last: sums without times. */
  daemonActivity(starts: Readonly<Record<StartOutcome, number>>, removalFailures: number): void;
  containers(phase: LifePhase, count: number): void;
  queueDepth(count: number): void;
  running(count: number): void;
  /** Broken infrastructure. `where` is a fixed word of the code. */
  unexpected(where: string, error: unknown): void;
}

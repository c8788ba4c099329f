/** How starting a container ended. */
export type StartOutcome = 'ok' | 'failed' | 'timeout' | 'cancelled';
/** Where a container of this instance is in its life. */
export type LifePhase = 'starting' | 'ready' | 'running' | 'removing';

/** What the sandbox tells whoever watches, for metrics. Every method returns at once and never throws. */
export interface SandboxObserver {
  containerStart(outcome: StartOutcome, ms: number): void;
  /** Removing a container was given up after its retries; the reaper takes it next. */
  removalFailed(): void;
  containers(phase: LifePhase, count: number): void;
  queueDepth(count: number): void;
  running(count: number): void;
  /** Broken infrastructure. `where` is a fixed word of the code. */
  unexpected(where: string, error: unknown): void;
}

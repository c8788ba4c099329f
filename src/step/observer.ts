import type { RuleId } from '../contract/admission.ts';
import type { Computation } from '../contract/computation.ts';
import type { FailureCode } from '../contract/failure.ts';
import type { ProblemCode } from '../contract/problem.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { LedgerOp } from '../metering/ledger.ts';
import type { Metered } from '../metering/permit.ts';
import type { ModelOutcome } from '../model/port.ts';

/** The timed parts of a step, in their order; `total` spans them all. */
export const PHASES = ['prompt', 'model', 'admission', 'queue', 'sandbox', 'total'] as const;
export type Phase = (typeof PHASES)[number];

/** How starting a container ended. */
export const CONTAINER_START_OUTCOMES = ['ok', 'failed', 'timeout', 'cancelled'] as const;
export type ContainerStartOutcome = (typeof CONTAINER_START_OUTCOMES)[number];

/** Where a container of this instance is in its life. */
export const CONTAINER_STATES = ['starting', 'ready', 'running', 'removing'] as const;
export type ContainerState = (typeof CONTAINER_STATES)[number];

export const FUNCTION_CACHE_OUTCOMES = ['hit', 'miss', 'stored', 'evicted'] as const;
export type FunctionCacheOutcome = (typeof FUNCTION_CACHE_OUTCOMES)[number];

export const QUOTA_METERS = ['compute_runs', 'compute_seconds'] as const;
export type QuotaMeter = (typeof QUOTA_METERS)[number];

/** How a step ended: with a result, with a failure of its Computation, or with a problem instead of one. */
export type StepOutcome = 'succeeded' | FailureCode | ProblemCode;

/** One finished step: ids, codes, digests and times. Nothing of its sources, instruction, function or result. */
export interface FinishedStep {
  readonly id: string;
  readonly tenant: string;
  /** `refused`: it ended in a problem, before there was a Computation. */
  readonly state: Computation['state'] | 'refused';
  readonly outcome: StepOutcome;
  readonly ruleId: RuleId | null;
  readonly metered: Metered;
  readonly promptPackDigest: string;
  /** Empty where nothing was admitted. */
  readonly codeSha256: string;
  readonly functionSource: Computation['function']['source'];
  readonly attempts: number;
  /** Id of the sandbox image, or null where nothing reached it. */
  readonly image: string | null;
  /** W3C trace id: of the caller's trace, or of the service's own; null where there is none. */
  readonly traceId: string | null;
  /** Milliseconds of the phases that took place. */
  readonly timingsMs: Readonly<Partial<Record<Phase, number>>>;
  /** For the operator, written by the service itself: never a value of the request. */
  readonly note?: string;
  /**
   * What stood behind a problem. A string was written by the service for the operator (`refused: host:443`) and is
   * shown; anything else may hold data, so only its class, code and frames are.
   */
  readonly cause?: unknown;
}

/**
 * What the pipeline and its adapters tell whoever watches. Every method returns at once, never throws and keeps
 * nothing of a request; names come from closed sets, so that they can be labels. Times: `Ms` or `Seconds`.
 */
export interface StepObserver {
  phase(phase: Phase, ms: number): void;
  stepFinished(step: FinishedStep): void;
  admissionRefused(rule: RuleId): void;
  modelRequest(outcome: ModelOutcome): void;
  containerStart(outcome: ContainerStartOutcome, ms: number): void;
  /** Removing a container was given up after its retries; the reaper takes it next. */
  removalFailed(): void;
  /** Starts and failed removals in the sandbox daemon since it was heard of last: sums without times. */
  daemonActivity(starts: Readonly<Record<ContainerStartOutcome, number>>, removalFailures: number): void;
  containers(state: ContainerState, count: number): void;
  queueDepth(count: number): void;
  running(count: number): void;
  permitsOpen(count: number): void;
  /** A tenant's count of this month against its cap; null is unlimited. */
  quota(tenant: string, meter: QuotaMeter, used: number, limit: number | null): void;
  readiness(state: CheckState): void;
  ledgerOp(op: LedgerOp, seconds: number): void;
  functionCache(outcome: FunctionCacheOutcome): void;
  /** `route` is the pattern (`/v1/usage/:month`), never the path that was asked for. */
  httpRequest(route: string, method: string, status: number, seconds: number): void;
  /** The tenants file was read: these are all there are. */
  tenantsLoaded(tenants: readonly string[]): void;
  /** A bug or broken infrastructure. `where` is a fixed word of the code; `error` may hold anything. */
  unexpected(where: string, error: unknown, id?: string): void;
}

const ignore = (): void => {};

/** Watches nothing. */
export const nullObserver: StepObserver = Object.freeze({
  phase: ignore,
  stepFinished: ignore,
  admissionRefused: ignore,
  modelRequest: ignore,
  containerStart: ignore,
  removalFailed: ignore,
  daemonActivity: ignore,
  containers: ignore,
  queueDepth: ignore,
  running: ignore,
  permitsOpen: ignore,
  quota: ignore,
  readiness: ignore,
  ledgerOp: ignore,
  functionCache: ignore,
  httpRequest: ignore,
  tenantsLoaded: ignore,
  unexpected: ignore,
});

/** Tells several observers, in order. One that throws is passed over: watching must not change how a run ends. */
export function combineObservers(...observers: readonly StepObserver[]): StepObserver {
  const tell = (say: (observer: StepObserver) => void): void => {
    for (const observer of observers) {
      try {
        say(observer);
      } catch {
        // A step that was run and metered is worth more than its trace.
      }
    }
  };
  return {
    phase: (phase, ms) => tell((to) => to.phase(phase, ms)),
    stepFinished: (step) => tell((to) => to.stepFinished(step)),
    admissionRefused: (rule) => tell((to) => to.admissionRefused(rule)),
    modelRequest: (outcome) => tell((to) => to.modelRequest(outcome)),
    containerStart: (outcome, ms) => tell((to) => to.containerStart(outcome, ms)),
    removalFailed: () => tell((to) => to.removalFailed()),
    daemonActivity: (starts, failures) => tell((to) => to.daemonActivity(starts, failures)),
    containers: (state, count) => tell((to) => to.containers(state, count)),
    queueDepth: (count) => tell((to) => to.queueDepth(count)),
    running: (count) => tell((to) => to.running(count)),
    permitsOpen: (count) => tell((to) => to.permitsOpen(count)),
    quota: (tenant, meter, used, limit) => tell((to) => to.quota(tenant, meter, used, limit)),
    readiness: (state) => tell((to) => to.readiness(state)),
    ledgerOp: (op, seconds) => tell((to) => to.ledgerOp(op, seconds)),
    functionCache: (outcome) => tell((to) => to.functionCache(outcome)),
    httpRequest: (route, method, status, seconds) =>
      tell((to) => to.httpRequest(route, method, status, seconds)),
    tenantsLoaded: (tenants) => tell((to) => to.tenantsLoaded(tenants)),
    unexpected: (where, error, id) => tell((to) => to.unexpected(where, error, id)),
  };
}

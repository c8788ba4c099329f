import type { FailureCode } from '../contract/failure.ts';
import type { Problem } from '../contract/problem.ts';

/** What a counted run ended as, in the ledger's journal: `succeeded` or the code of its failure. */
export type RunOutcome = 'succeeded' | FailureCode;

/** What a run was charged. */
export interface Metered {
  readonly computeRuns: number;
  readonly computeSeconds: number;
}

declare const permitBrand: unique symbol;

/**
 * The right to start one run, counted against the tenant's caps while it is open. Only `Meter.open` makes one.
 * Its life: open -> started -> settled (once, idempotent), or open -> released.
 */
export interface Permit {
  readonly [permitBrand]: true;
  readonly runId: string;
  readonly tenant: string;
  /** UTC month, `yyyy-mm`, fixed when the permit was opened. */
  readonly month: string;
  /**
   * Writes *started* durably. The sandbox calls it after it has a container and before it sends the first
   * untrusted byte. False: the ledger could not write it, and nothing may be sent.
   */
  started(codeSha256: string): Promise<boolean>;
  /**
   * Charges the run: 1 run and its wall time in seconds, rounded up, at least 1. Never throws: what the ledger
   * cannot take now is kept and written when it answers again.
   */
  settle(wallNs: bigint, outcome: RunOutcome): Promise<Metered>;
  /**
   * What the tenant had been charged in `month` when this run was settled, itself included: spares its caller a read.
   * Null before, where the ledger could not say it, and once a later month has begun.
   */
  readonly used: UsedInMonth | null;
  /** Replaces the outcome of a settled run, when the check of its result ended otherwise. Charges nothing. */
  amend(outcome: RunOutcome): Promise<void>;
  /** Gives an unstarted permit back; counts nothing. Without effect on a started or settled one. */
  release(): Promise<void>;
}

/** A request's Idempotency-Key: the SHA-256 over tenant and key in hex, and for how long it is known. */
export interface IdempotencyClaim {
  readonly digest: string;
  readonly ttlMs: number;
}

/** A tenant's monthly caps; null is unlimited. */
export interface Quotas {
  readonly computeRuns: number | null;
  readonly computeSeconds: number | null;
}

/** What a tenant was charged in a month. */
export interface UsedInMonth {
  readonly computeRuns: number;
  readonly computeSeconds: number;
}

/** A tenant's counts of one month. */
export interface Usage extends UsedInMonth {
  readonly tenant: string;
  readonly month: string;
  readonly openPermits: number;
  readonly outcomes: Readonly<Partial<Record<RunOutcome, number>>>;
}

/** Counts runs against quotas. All reads and writes go to the ledger, which is the truth. */
export interface Meter {
  /**
   * Opens a permit, or answers `quota_exceeded` (spent), `quota_reserved` (open permits hold the rest) or
   * `ledger_unavailable`. `packDigest` stands in the journal. A key whose run was opened within its time, here
   * or on another replica, is `idempotency_answer_lost` (counted) or `idempotency_in_flight`; a run that was
   * given back frees it.
   */
  open(
    tenant: string,
    quotas: Quotas,
    runId: string,
    packDigest: string,
    idempotency?: IdempotencyClaim | null,
  ): Promise<Permit | Problem>;
  /** Whether one more permit could be opened now; opens none. Null: yes. */
  check(tenant: string, quotas: Quotas): Promise<Problem | null>;
  /** Counts of a month, `yyyy-mm`; the current month if left out. */
  usage(tenant: string, month?: string): Promise<Usage | Problem>;
  /** Settles what an earlier process left open. Called once, before anything else is served. */
  recover(): Promise<void>;
  /** Whether the ledger answers and takes writes. */
  ready(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  close(): Promise<void>;
}

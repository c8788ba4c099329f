import type { IdempotencyClaim, Quotas, RunOutcome, Usage, UsedInMonth } from './permit.ts';
import type { QuotaRefusal } from './quota.ts';

/**
 * The ledger could not do it now: locked, full, read-only, gone. Trying again later may work.
 * `mayHaveWritten`: it failed so late that the write may stand after all.
 */
export class LedgerUnavailable extends Error {
  readonly mayHaveWritten: boolean;
  constructor(message: string, options: { cause?: unknown; mayHaveWritten?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'LedgerUnavailable';
    this.mayHaveWritten = options.mayHaveWritten ?? false;
  }
}

/** The operations of a ledger: a closed set, the label of the `ledger_seconds` metric. */
export const LEDGER_OPS = [
  'open',
  'check',
  'started',
  'settle',
  'amend',
  'release',
  'usage',
  'recover',
  'renew',
  'leave',
  'prune',
  'verify',
  'export',
] as const;
export type LedgerOp = (typeof LEDGER_OPS)[number];

/** A permit to be written: ids and digests only, never anything of a request's content. */
export interface PermitEntry {
  readonly runId: string;
  readonly tenant: string;
  readonly packDigest: string;
  readonly instance: string;
  /** Null or absent: the request has no Idempotency-Key. */
  readonly idempotency?: IdempotencyClaim | null;
}

/** The month the permit counts in, or why there is none. */
export type OpenResult =
  | { readonly kind: 'opened'; readonly month: string }
  /** The Idempotency-Key has led to a run already; outcome null: it is not settled yet. */
  | { readonly kind: 'known'; readonly runId: string; readonly outcome: RunOutcome | null }
  | { readonly kind: 'refused'; readonly refusal: QuotaRefusal };

/** What one run is charged. */
export interface Charge {
  readonly finishedAt: Date;
  readonly wallNs: bigint;
  readonly seconds: number;
  readonly outcome: RunOutcome;
}

/** What one run was charged, and its tenant's month with it. */
export interface Charged {
  readonly seconds: number;
  /** Null where it was charged before: its month has gone on since. */
  readonly used: UsedInMonth | null;
}

/** This process's claim to be alive: its rows are its own until `expiresAt`. Renewed well before. */
export interface Lease {
  readonly instance: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

/** What recovery did with the permits of processes that are gone. */
export interface Recovery {
  readonly settled: number;
  readonly released: number;
}

/** A tenant's month whose totals are not what its journal rows add up to. */
export interface LedgerMismatch {
  readonly tenant: string;
  readonly month: string;
  readonly meter: 'compute_runs' | 'compute_seconds' | 'outcomes';
  readonly total: number;
  readonly journal: number;
}

/** One tenant's counts of a month. */
export type TenantMonth = Omit<Usage, 'month'>;

/** A month of all tenants, by tenant id. */
export interface LedgerMonth {
  readonly month: string;
  /** Nothing can be added any more: a later month has begun, and no permit of this one is open. */
  readonly closed: boolean;
  readonly tenants: readonly TenantMonth[];
}

/**
 * What the meter needs of a store. Each method is one transaction that is durable when its promise resolves,
 * and throws LedgerUnavailable when the store cannot do it now. Months are `yyyy-mm` in UTC; "now's month" is
 * never earlier than the newest month the ledger knows, so a clock that is set back reopens nothing.
 */
export interface Ledger {
  /**
   * Judges the quota and writes an open permit, as one: of two at the last free run, one passes. A key that has
   * led to a run within its time opens nothing, whatever the quota.
   */
  open(entry: PermitEntry, quotas: Quotas, now: Date): Promise<OpenResult>;
  /** Judges the quota and writes nothing. Null: a permit could be opened. */
  check(tenant: string, quotas: Quotas, now: Date): Promise<QuotaRefusal | null>;
  /** open -> started. False: the permit is not open (any more), and nothing may be run on it. */
  started(runId: string, codeSha256: string, now: Date): Promise<boolean>;
  /**
   * open or started -> settled, charging the totals. Idempotent by run id: answers what was charged the first time,
   * or null where the run was given back or is unknown.
   */
  settle(runId: string, charge: Charge): Promise<Charged | null>;
  /** Replaces the outcome of a settled run; runs and seconds stay. Without effect on any other. */
  amend(runId: string, outcome: RunOutcome): Promise<void>;
  /** open -> released; with `unsent` a started one too, whose *started* was not known to be written. */
  release(runId: string, now: Date, unsent: boolean): Promise<void>;
  /** Counts of a month; null is now's month. */
  usage(tenant: string, month: string | null, now: Date): Promise<Usage>;
  /**
   * Takes or renews this process's lease, then ends what dead processes left: a started run is settled as
   * `sandbox_lost` with the time from its start to now, at most `wallLimitMs`; an open permit is released.
   */
  recover(lease: Lease, wallLimitMs: number): Promise<Recovery>;
  /** Renews the lease: a real write, so its success shows that the ledger takes writes. */
  renew(lease: Lease): Promise<void>;
  /** Gives the lease up; what this process still has open belongs to nobody then. */
  leave(instance: string): Promise<void>;
  /** Removes settled and released journal rows that ended before `before`; totals stay. Answers how many. */
  prune(before: Date): Promise<number>;
  /** Compares the totals with the journal; an empty list is a sound ledger. */
  verify(): Promise<readonly LedgerMismatch[]>;
  /** Every tenant's counts of a month, for billing. */
  month(month: string, now: Date): Promise<LedgerMonth>;
  close(): Promise<void>;
}

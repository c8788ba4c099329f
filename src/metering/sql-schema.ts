import type { RunOutcome } from './permit.ts';

/** open -> started -> settled, or open -> released. */
export type RunState = 'open' | 'started' | 'settled' | 'released';

/** States of a permit that counts against the quota without being charged yet. */
export const LIVE_STATES = ['open', 'started'] as const satisfies readonly RunState[];

/** One row a run. Moments are epoch milliseconds. No value, instruction or function has a column here. */
export interface JournalTable {
  id: string;
  tenant: string;
  month: string;
  opened_at: number;
  started_at: number | null;
  finished_at: number | null;
  state: RunState;
  wall_ns: number | null;
  seconds: number | null;
  outcome: RunOutcome | null;
  pack_digest: string;
  code_sha256: string | null;
  instance: string;
  /** SHA-256 of tenant and Idempotency-Key; null without a key. */
  idempotency_digest: string | null;
}

/**
 * One row a tenant and month, made by its first permit. compute_* equal the journal's settled rows plus
 * pruned_*, which is what retention has removed from the journal: so the totals can be verified for ever.
 */
export interface MonthlyTotalsTable {
  month: string;
  tenant: string;
  compute_runs: number;
  compute_seconds: number;
  pruned_runs: number;
  pruned_seconds: number;
}

/** The same runs by what they ended as. */
export interface MonthlyOutcomesTable {
  month: string;
  tenant: string;
  outcome: RunOutcome;
  runs: number;
  pruned_runs: number;
}

/** Processes that may have live permits, each until `expires_at` unless it renews. */
export interface InstancesTable {
  instance: string;
  expires_at: number;
}

export interface SchemaVersionTable {
  version: number;
  applied_at: number;
}

/** The ledger's tables. Numbers may come back as text from a driver with 64-bit integers: read by Number(). */
export interface LedgerTables {
  journal: JournalTable;
  monthly_totals: MonthlyTotalsTable;
  monthly_outcomes: MonthlyOutcomesTable;
  instances: InstancesTable;
  schema_version: SchemaVersionTable;
}

import type { Kysely, Transaction } from 'kysely';
import type { Charge } from './ledger.ts';
import { utcMonth } from './months.ts';
import type { RunOutcome } from './permit.ts';
import type { QuotaState } from './quota.ts';
import { type LedgerTables, LIVE_STATES } from './sql-schema.ts';

/** The month that counts now: the clock's, but never one before the newest in the ledger. */
export async function monthInForce(db: Kysely<LedgerTables>, now: Date): Promise<string> {
  const row = await db
    .selectFrom('monthly_totals')
    .select((eb) => eb.fn.max('month').as('month'))
    .executeTakeFirst();
  const month = utcMonth(now);
  const newest = row?.month ?? month;
  // Months are written so that their text sorts as they do.
  if (newest < month) return month;
  return newest;
}

/** A tenant's month; with `lock` its totals are held until the transaction ends (where rows can be locked). */
export async function quotaState(
  db: Kysely<LedgerTables>,
  tenant: string,
  month: string,
  lock: boolean,
): Promise<QuotaState> {
  const totals = await db
    .selectFrom('monthly_totals')
    .select(['compute_runs', 'compute_seconds'])
    .where('month', '=', month)
    .where('tenant', '=', tenant)
    .$if(lock, (query) => query.forUpdate())
    .executeTakeFirst();
  const live = await db
    .selectFrom('journal')
    .select((eb) => eb.fn.countAll().as('permits'))
    .where('state', 'in', LIVE_STATES)
    .where('tenant', '=', tenant)
    .where('month', '=', month)
    .executeTakeFirst();
  return {
    usedRuns: Number(totals?.compute_runs ?? 0),
    usedSeconds: Number(totals?.compute_seconds ?? 0),
    openPermits: Number(live?.permits ?? 0),
  };
}

/**
 * Settles one run and charges its totals, once: answers the seconds it is charged now or was before, or null
 * where it was given back or is unknown.
 */
export async function settleRun(
  trx: Transaction<LedgerTables>,
  runId: string,
  charge: Charge,
): Promise<number | null> {
  const { seconds, outcome } = charge;
  const row = await trx
    .updateTable('journal')
    .set({
      state: 'settled',
      finished_at: charge.finishedAt.getTime(),
      // 2^53 ns are 104 days: no run is as long, and a number is what both dialects take.
      wall_ns: Math.min(Number(charge.wallNs), Number.MAX_SAFE_INTEGER),
      seconds,
      outcome,
    })
    .where('id', '=', runId)
    .where('state', 'in', LIVE_STATES)
    .returning(['tenant', 'month'])
    .executeTakeFirst();
  if (row === undefined) {
    const before = await trx
      .selectFrom('journal')
      .select('seconds')
      .where('id', '=', runId)
      .where('state', '=', 'settled')
      .executeTakeFirst();
    return before === undefined ? null : Number(before.seconds);
  }
  await trx
    .updateTable('monthly_totals')
    .set((eb) => ({
      compute_runs: eb('compute_runs', '+', 1),
      compute_seconds: eb('compute_seconds', '+', seconds),
    }))
    .where('month', '=', row.month)
    .where('tenant', '=', row.tenant)
    .execute();
  await addOutcome(trx, { ...row, outcome });
  return seconds;
}

/** Moves a settled run from its outcome to another. */
export async function amendRun(
  trx: Transaction<LedgerTables>,
  runId: string,
  outcome: RunOutcome,
): Promise<void> {
  const row = await trx
    .selectFrom('journal')
    .select(['tenant', 'month', 'outcome'])
    .where('id', '=', runId)
    .where('state', '=', 'settled')
    .executeTakeFirst();
  if (!row?.outcome) return;
  const { tenant, month } = row;
  // The old outcome stands in the condition too: of two that amend at once, one moves the count.
  const moved = await trx
    .updateTable('journal')
    .set({ outcome })
    .where('id', '=', runId)
    .where('outcome', '=', row.outcome)
    .executeTakeFirst();
  if (moved.numUpdatedRows === 0n) return;
  await trx
    .updateTable('monthly_outcomes')
    .set((eb) => ({ runs: eb('runs', '-', 1) }))
    .where('month', '=', month)
    .where('tenant', '=', tenant)
    .where('outcome', '=', row.outcome)
    .execute();
  await addOutcome(trx, { tenant, month, outcome });
}

async function addOutcome(
  trx: Transaction<LedgerTables>,
  key: { tenant: string; month: string; outcome: RunOutcome },
): Promise<void> {
  await trx
    .insertInto('monthly_outcomes')
    .values({ ...key, runs: 1, pruned_runs: 0 })
    .onConflict((conflict) =>
      conflict
        .columns(['month', 'tenant', 'outcome'])
        .doUpdateSet((eb) => ({ runs: eb('monthly_outcomes.runs', '+', 1) })),
    )
    .execute();
}

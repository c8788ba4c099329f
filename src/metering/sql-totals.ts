import type { Kysely, Transaction } from 'kysely';
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

/** A tenant's month, to be looked at: nothing is held. */
export async function quotaState(
  db: Kysely<LedgerTables>,
  tenant: string,
  month: string,
): Promise<QuotaState> {
  const totals = await db
    .selectFrom('monthly_totals')
    .select(['compute_runs', 'compute_seconds'])
    .where('month', '=', month)
    .where('tenant', '=', tenant)
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
  await outcomeCounted(trx, { tenant, month, outcome }).execute();
}

/** Counts one more run of an outcome. */
export function outcomeCounted(
  db: Kysely<LedgerTables>,
  { tenant, month, outcome }: { tenant: string; month: string; outcome: RunOutcome },
) {
  return db
    .insertInto('monthly_outcomes')
    .values({ tenant, month, outcome, runs: 1, pruned_runs: 0 })
    .onConflict((conflict) =>
      conflict
        .columns(['month', 'tenant', 'outcome'])
        .doUpdateSet((eb) => ({ runs: eb('monthly_outcomes.runs', '+', 1) })),
    );
}

import type { Transaction } from 'kysely';
import type { RunOutcome } from './permit.ts';
import type { LedgerTables } from './sql-schema.ts';

/** Rows removed in one transaction: a few milliseconds of the ledger's time. */
export const PRUNE_BATCH = 500;

/**
 * Removes up to PRUNE_BATCH rows that ended before `before` and books the settled ones as pruned, so that the
 * totals still equal what is in the journal plus what was in it. Answers how many rows went.
 */
export async function pruneBatch(trx: Transaction<LedgerTables>, before: Date): Promise<number> {
  // Rows that are still live have no end, so no date is before it.
  // Only the rows that this statement removed come back: two processes that prune at once book nothing twice.
  const rows = await trx
    .deleteFrom('journal')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('journal')
        .select('id')
        .where('finished_at', '<', before.getTime())
        .orderBy('finished_at')
        .limit(PRUNE_BATCH),
    )
    .returning(['tenant', 'month', 'outcome', 'seconds'])
    .execute();
  const removed = new Map<string, Removed>();
  for (const { tenant, month, outcome, seconds } of rows) {
    // A permit that was given back has no outcome and is in no total.
    if (outcome === null) continue;
    const key = JSON.stringify([tenant, month, outcome]);
    const sum = removed.get(key) ?? { tenant, month, outcome, runs: 0, seconds: 0 };
    removed.set(key, { ...sum, runs: sum.runs + 1, seconds: sum.seconds + Number(seconds) });
  }
  for (const sum of removed.values()) await bookRemoved(trx, sum);
  return rows.length;
}

interface Removed {
  readonly tenant: string;
  readonly month: string;
  readonly outcome: RunOutcome;
  readonly runs: number;
  readonly seconds: number;
}

async function bookRemoved(trx: Transaction<LedgerTables>, removed: Removed): Promise<void> {
  const { tenant, month, outcome, runs, seconds } = removed;
  await trx
    .updateTable('monthly_totals')
    .set((eb) => ({
      pruned_runs: eb('pruned_runs', '+', runs),
      pruned_seconds: eb('pruned_seconds', '+', seconds),
    }))
    .where('month', '=', month)
    .where('tenant', '=', tenant)
    .execute();
  await trx
    .updateTable('monthly_outcomes')
    .set((eb) => ({ pruned_runs: eb('pruned_runs', '+', runs) }))
    .where('month', '=', month)
    .where('tenant', '=', tenant)
    .where('outcome', '=', outcome)
    .execute();
}

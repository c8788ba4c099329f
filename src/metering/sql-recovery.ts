import type { Transaction } from 'kysely';
import { billedSeconds } from './billed-seconds.ts';
import type { Lease, Recovery } from './ledger.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { RunWrites } from './sql-run.ts';
import { type LedgerTables, LIVE_STATES } from './sql-schema.ts';

/** Rows one pass ends, so that a long list does not hold the ledger; the caller goes on while it was full. */
export const RECOVERY_BATCH = 500;

/** Writes the lease: a change at every call, so it shows that the store takes writes. */
export async function writeLease(trx: Transaction<LedgerTables>, lease: Lease): Promise<void> {
  const expires_at = lease.expiresAt.getTime();
  await trx
    .insertInto('instances')
    .values({ instance: lease.instance, expires_at })
    .onConflict((conflict) => conflict.column('instance').doUpdateSet({ expires_at }))
    .execute();
}

/**
 * Ends what dead processes left, in the transaction given. Dead is a process that the dialect knows to be gone;
 * where it cannot know, one whose lease has run out; and one without a lease. Each row is ended where it is
 * still live, so two processes that recover at once charge nothing twice.
 */
export async function recoverDead(
  trx: Transaction<LedgerTables>,
  dialect: SqlDialect,
  runs: RunWrites,
  lease: Lease,
  wallLimitMs: number,
): Promise<Recovery> {
  const nowMs = lease.now.getTime();
  const live = [lease.instance];
  for (const { instance, expires_at } of await trx.selectFrom('instances').selectAll().execute()) {
    if (instance === lease.instance) continue;
    if (dialect.isAlive(instance) ?? Number(expires_at) > nowMs) {
      live.push(instance);
    } else {
      await trx.deleteFrom('instances').where('instance', '=', instance).execute();
      dialect.forget(instance);
    }
  }
  const rows = await trx
    .selectFrom('journal')
    .select(['id', 'state', 'started_at'])
    .where('state', 'in', LIVE_STATES)
    .where('instance', 'not in', live)
    .limit(RECOVERY_BATCH)
    .execute();
  const recovery = { settled: 0, released: 0 };
  for (const { id, started_at } of rows) {
    if (started_at === null) {
      await trx
        .updateTable('journal')
        .set({ state: 'released', finished_at: nowMs })
        .where('id', '=', id)
        .where('state', '=', 'open')
        .execute();
      recovery.released += 1;
    } else {
      // A clock that was set back in between gives a negative time: billed as the least, one second.
      const wallMs = Math.min(Math.max(0, nowMs - Number(started_at)), wallLimitMs);
      const wallNs = BigInt(Math.round(wallMs)) * 1_000_000n;
      const charge = { finishedAt: lease.now, wallNs, seconds: billedSeconds(wallNs) };
      await runs.settle(trx, id, { ...charge, outcome: 'sandbox_lost' });
      recovery.settled += 1;
    }
  }
  return recovery;
}

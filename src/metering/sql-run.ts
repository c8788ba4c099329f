import type { Kysely, Transaction } from 'kysely';
import type { Charge, Charged, OpenResult, PermitEntry } from './ledger.ts';
import { utcMonth } from './months.ts';
import type { Quotas } from './permit.ts';
import { judgeQuota } from './quota.ts';
import type { SqlDialect } from './sql-dialect.ts';
import { knownKey } from './sql-known-key.ts';
import { runStatements } from './sql-run-statements.ts';
import type { LedgerTables } from './sql-schema.ts';
import { monthInForce } from './sql-totals.ts';

/** What is written for every run: the ledger's part of a step's time, so in few statements, and those made once. */
export interface RunWrites {
  open(trx: Transaction<LedgerTables>, entry: PermitEntry, quotas: Quotas, now: Date): Promise<OpenResult>;
  /** One statement, which needs no transaction around it. */
  started(db: Kysely<LedgerTables>, runId: string, codeSha256: string, now: Date): Promise<boolean>;
  /**
   * Settles one run and charges its totals, once: answers what it is charged now or was before, or null where it was
   * given back or is unknown.
   */
  settle(trx: Transaction<LedgerTables>, runId: string, charge: Charge): Promise<Charged | null>;
}

/** The writes of one ledger, whose dialect stays the same. */
export function createRunWrites(dialect: SqlDialect): RunWrites {
  const statements = runStatements(dialect.rowLocks);

  /** The tenant's totals of the month in force, which dialects with row locks hold from here on. */
  async function totalsInForce(trx: Transaction<LedgerTables>, tenant: string, now: Date) {
    const known = (await statements.newestTotals(trx, { tenant })).rows[0];
    // Months are written so that their text sorts as they do.
    if (known !== undefined && known.month >= utcMonth(now)) return known;
    const month = await monthInForce(trx, now);
    // The row that settling adds to, that makes the month known, and that is locked.
    await trx
      .insertInto('monthly_totals')
      .values({ month, tenant, compute_runs: 0, compute_seconds: 0, pruned_runs: 0, pruned_seconds: 0 })
      .onConflict((conflict) => conflict.columns(['month', 'tenant']).doNothing())
      .execute();
    const [totals] = (await statements.totals(trx, { tenant, month })).rows;
    if (totals === undefined) throw new Error('The totals that were just written are not there.');
    return totals;
  }

  return {
    async open(trx, { runId, tenant, packDigest, instance, idempotency }, quotas, now) {
      const totals = await totalsInForce(trx, tenant, now);
      const { month } = totals;
      // A statement of its own: one that waited for the lock would count as of before its wait.
      const live = (await statements.livePermits(trx, { tenant, month })).rows[0];
      // Under the lock of the totals: of two calls with one key, the second sees the first.
      const known = await knownKey(trx, tenant, idempotency, now);
      if (known !== null) return known;
      const state = {
        usedRuns: Number(totals.compute_runs),
        usedSeconds: Number(totals.compute_seconds),
        openPermits: Number(live?.permits ?? 0),
      };
      const refusal = judgeQuota(state, quotas, month, now);
      if (refusal !== null) return { kind: 'refused', refusal };
      await statements.insertPermit(trx, {
        runId,
        tenant,
        month,
        openedAt: now.getTime(),
        packDigest,
        instance,
        digest: idempotency?.digest ?? null,
      });
      return { kind: 'opened', month };
    },

    async started(db, runId, codeSha256, now) {
      const { numAffectedRows } = await statements.start(db, { runId, codeSha256, startedAt: now.getTime() });
      return numAffectedRows === 1n;
    },

    async settle(trx, runId, { finishedAt, wallNs, seconds, outcome }) {
      const [row] = (
        await statements.settle(trx, {
          runId,
          finishedAt: finishedAt.getTime(),
          // 2^53 ns are 104 days: no run is as long, and a number is what both dialects take.
          wallNs: Math.min(Number(wallNs), Number.MAX_SAFE_INTEGER),
          seconds,
          outcome,
        })
      ).rows;
      if (row === undefined) {
        const before = await trx
          .selectFrom('journal')
          .select('seconds')
          .where('id', '=', runId)
          .where('state', '=', 'settled')
          .executeTakeFirst();
        return before === undefined ? null : { seconds: Number(before.seconds), used: null };
      }
      const [totals] = (await statements.charge(trx, { ...row, seconds })).rows;
      await statements.countOutcome(trx, { ...row, outcome });
      if (totals === undefined) return { seconds, used: null };
      return {
        seconds,
        used: { computeRuns: Number(totals.compute_runs), computeSeconds: Number(totals.compute_seconds) },
      };
    },
  };
}

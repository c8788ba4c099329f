import type { Clock } from '../clock.ts';
import type { Ledger } from './ledger.ts';
import type { Usage } from './permit.ts';
import { judgeQuota } from './quota.ts';
import { createSqlAccess, type LedgerObserver } from './sql-access.ts';
import type { SqlDialect } from './sql-dialect.ts';
import { monthOfAll, outcomesOf } from './sql-month.ts';
import { RECOVERY_BATCH, recoverDead, writeLease } from './sql-recovery.ts';
import { PRUNE_BATCH, pruneBatch } from './sql-retention.ts';
import { createRunWrites } from './sql-run.ts';
import { LIVE_STATES } from './sql-schema.ts';
import { amendRun, monthInForce, quotaState } from './sql-totals.ts';
import { findMismatches } from './sql-verify.ts';

export interface SqlLedgerOptions {
  readonly dialect: SqlDialect;
  readonly clock: Clock;
  /** How long an operation waits for the store's lock before it gives up, in ms; 5,000 if left out. */
  readonly lockWaitMs?: number;
  /** The least time between two attempts to open a store that failed, in ms; 500 if left out. */
  readonly reconnectMs?: number;
  readonly observe?: LedgerObserver;
}

/**
 * The ledger in an SQL store, the same for every dialect. Makes no connection yet: the first operation does, and
 * migrates the schema; a store that cannot be opened makes operations throw LedgerUnavailable until it can.
 */
export function createSqlLedger(options: SqlLedgerOptions): Ledger {
  const { dialect, clock } = options;
  const access = createSqlAccess({
    dialect,
    clock,
    lockWaitMs: options.lockWaitMs ?? 5000,
    reconnectMs: options.reconnectMs ?? 500,
    observe: options.observe ?? (() => {}),
  });

  const runs = createRunWrites(dialect);

  return {
    open: (entry, quotas, now) => access.write('open', (trx) => runs.open(trx, entry, quotas, now)),

    check: (tenant, quotas, now) =>
      access.read('check', async (db) => {
        const month = await monthInForce(db, now);
        return judgeQuota(await quotaState(db, tenant, month), quotas, month, now);
      }),

    started: (runId, codeSha256, now) =>
      access.single('started', (db) => runs.started(db, runId, codeSha256, now)),

    settle: (runId, charge) => access.write('settle', (trx) => runs.settle(trx, runId, charge)),

    amend: (runId, outcome) => access.write('amend', (trx) => amendRun(trx, runId, outcome)),

    release: (runId, now, unsent) =>
      access.single('release', async (db) => {
        await db
          .updateTable('journal')
          .set({ state: 'released', finished_at: now.getTime() })
          .where('id', '=', runId)
          .where('state', 'in', unsent ? LIVE_STATES : ['open'])
          .execute();
      }),

    usage: (tenant, month, now) =>
      access.read('usage', async (db): Promise<Usage> => {
        const counted = month ?? (await monthInForce(db, now));
        const state = await quotaState(db, tenant, counted);
        const outcomes = (await outcomesOf(db, counted, tenant)).get(tenant) ?? {};
        return {
          tenant,
          month: counted,
          computeRuns: state.usedRuns,
          computeSeconds: state.usedSeconds,
          openPermits: state.openPermits,
          outcomes,
        };
      }),

    // On one snapshot: a process that joins in between would else show its permits without its lease.
    async recover(lease, wallLimitMs) {
      const sum = { settled: 0, released: 0 };
      for (;;) {
        const pass = await access.writeOnSnapshot('recover', async (trx) => {
          // The mark of life first: a lease without one would make this process look dead to others.
          dialect.claim(lease.instance);
          await writeLease(trx, lease);
          return recoverDead(trx, dialect, runs, lease, wallLimitMs);
        });
        sum.settled += pass.settled;
        sum.released += pass.released;
        if (pass.settled + pass.released < RECOVERY_BATCH) return sum;
      }
    },

    renew: (lease) => access.write('renew', (trx) => writeLease(trx, lease)),

    leave: (instance) =>
      access.write('leave', async (trx) => {
        await trx.deleteFrom('instances').where('instance', '=', instance).execute();
        dialect.forget(instance);
      }),

    async prune(before) {
      for (let pruned = 0; ; ) {
        const batch = await access.write('prune', (trx) => pruneBatch(trx, before));
        pruned += batch;
        if (batch < PRUNE_BATCH) return pruned;
      }
    },

    verify: () => access.read('verify', findMismatches),

    month: (month, now) => access.read('export', (db) => monthOfAll(db, month, now)),

    close: () => access.close(),
  };
}

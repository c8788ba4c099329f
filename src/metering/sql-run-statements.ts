import type { RunOutcome } from './permit.ts';
import { LIVE_STATES } from './sql-schema.ts';
import { outcomeCounted } from './sql-totals.ts';
import { statement } from './statement.ts';

/** The statements of a run's life, each made once. With `rowLocks` totals that are read are held. */
export function runStatements(rowLocks: boolean) {
  return {
    /** A tenant's totals of the newest month in the ledger; no row where the tenant has none. */
    newestTotals: statement((db, { tenant }: { tenant: string }) =>
      db
        .selectFrom('monthly_totals')
        .select(['month', 'compute_runs', 'compute_seconds'])
        .where('tenant', '=', tenant)
        .where('month', '=', (eb) =>
          eb.selectFrom('monthly_totals').select((newest) => newest.fn.max('month').as('month')),
        )
        .$if(rowLocks, (query) => query.forUpdate()),
    ),
    totals: statement((db, { tenant, month }: { tenant: string; month: string }) =>
      db
        .selectFrom('monthly_totals')
        .select(['month', 'compute_runs', 'compute_seconds'])
        .where('tenant', '=', tenant)
        .where('month', '=', month)
        .$if(rowLocks, (query) => query.forUpdate()),
    ),
    livePermits: statement((db, { tenant, month }: { tenant: string; month: string }) =>
      db
        .selectFrom('journal')
        .select((eb) => eb.fn.countAll().as('permits'))
        .where('state', 'in', LIVE_STATES)
        .where('tenant', '=', tenant)
        .where('month', '=', month),
    ),
    insertPermit: statement((db, permit: OpenedPermit) =>
      db.insertInto('journal').values({
        id: permit.runId,
        tenant: permit.tenant,
        month: permit.month,
        opened_at: permit.openedAt,
        state: 'open',
        pack_digest: permit.packDigest,
        instance: permit.instance,
        idempotency_digest: permit.digest,
      }),
    ),
    start: statement((db, start: { runId: string; codeSha256: string; startedAt: number }) =>
      db
        .updateTable('journal')
        .set({ state: 'started', started_at: start.startedAt, code_sha256: start.codeSha256 })
        .where('id', '=', start.runId)
        .where('state', '=', 'open'),
    ),
    settle: statement((db, run: SettledRun) =>
      db
        .updateTable('journal')
        .set({
          state: 'settled',
          finished_at: run.finishedAt,
          wall_ns: run.wallNs,
          seconds: run.seconds,
          outcome: run.outcome,
        })
        .where('id', '=', run.runId)
        .where('state', 'in', LIVE_STATES)
        .returning(['tenant', 'month']),
    ),
    charge: statement((db, run: { tenant: string; month: string; seconds: number }) =>
      db
        .updateTable('monthly_totals')
        .set((eb) => ({
          compute_runs: eb('compute_runs', '+', 1),
          compute_seconds: eb('compute_seconds', '+', run.seconds),
        }))
        .where('month', '=', run.month)
        .where('tenant', '=', run.tenant)
        .returning(['compute_runs', 'compute_seconds']),
    ),
    countOutcome: statement(outcomeCounted),
  };
}

interface OpenedPermit {
  readonly runId: string;
  readonly tenant: string;
  readonly month: string;
  readonly openedAt: number;
  readonly packDigest: string;
  readonly instance: string;
  readonly digest: string | null;
}

interface SettledRun {
  readonly runId: string;
  readonly finishedAt: number;
  readonly wallNs: number;
  readonly seconds: number;
  readonly outcome: RunOutcome;
}

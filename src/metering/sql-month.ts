import type { Kysely } from 'kysely';
import type { LedgerMonth, TenantMonth } from './ledger.ts';
import type { RunOutcome } from './permit.ts';
import { type LedgerTables, LIVE_STATES } from './sql-schema.ts';
import { monthInForce } from './sql-totals.ts';

type Outcomes = Partial<Record<RunOutcome, number>>;

/** How often a month's runs ended as what, by tenant; of one tenant, or of all (null). Outcomes in their order. */
export async function outcomesOf(
  db: Kysely<LedgerTables>,
  month: string,
  tenant: string | null,
): Promise<ReadonlyMap<string, Outcomes>> {
  const rows = await db
    .selectFrom('monthly_outcomes')
    .select(['tenant', 'outcome', 'runs'])
    .where('month', '=', month)
    .where('runs', '>', 0)
    .$if(tenant !== null, (query) => query.where('tenant', '=', tenant))
    .execute();
  const found = new Map<string, Outcomes>();
  // Sorted here: databases sort text each in their own way.
  for (const { tenant: id, outcome, runs } of rows.sort((a, b) => byText(a.outcome, b.outcome))) {
    found.set(id, { ...found.get(id), [outcome]: Number(runs) });
  }
  return found;
}

/** A month of all tenants that had a permit in it, by tenant id. To be called in a transaction. */
export async function monthOfAll(db: Kysely<LedgerTables>, month: string, now: Date): Promise<LedgerMonth> {
  const totals = await db
    .selectFrom('monthly_totals')
    .select(['tenant', 'compute_runs', 'compute_seconds'])
    .where('month', '=', month)
    .execute();
  const live = await db
    .selectFrom('journal')
    .select((eb) => ['tenant', eb.fn.countAll().as('permits')])
    .where('state', 'in', LIVE_STATES)
    .where('month', '=', month)
    .groupBy('tenant')
    .execute();
  const open = new Map(live.map(({ tenant, permits }) => [tenant, Number(permits)]));
  const outcomes = await outcomesOf(db, month, null);
  const tenants = totals
    .map(
      ({ tenant, compute_runs, compute_seconds }): TenantMonth => ({
        tenant,
        computeRuns: Number(compute_runs),
        computeSeconds: Number(compute_seconds),
        openPermits: open.get(tenant) ?? 0,
        outcomes: outcomes.get(tenant) ?? {},
      }),
    )
    .sort((a, b) => byText(a.tenant, b.tenant));
  return { month, closed: month < (await monthInForce(db, now)) && open.size === 0, tenants };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

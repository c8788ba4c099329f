import type { Kysely } from 'kysely';
import type { LedgerMismatch } from './ledger.ts';
import type { LedgerTables } from './sql-schema.ts';

interface Sums {
  runs: number;
  seconds: number;
}

/**
 * Adds the journal's settled rows up by tenant, month and outcome and compares them with the totals and the
 * outcome counts (less what retention removed). To be called in a transaction: it reads three tables.
 */
export async function findMismatches(db: Kysely<LedgerTables>): Promise<LedgerMismatch[]> {
  const journal = await db
    .selectFrom('journal')
    .select((eb) => [
      'tenant',
      'month',
      'outcome',
      eb.fn.countAll().as('runs'),
      eb.fn.sum('seconds').as('seconds'),
    ])
    .where('state', '=', 'settled')
    .groupBy(['tenant', 'month', 'outcome'])
    .execute();
  const sums = new Map<string, Sums>();
  const byOutcome = new Map<string, number>();
  for (const { tenant, month, outcome, runs, seconds } of journal) {
    const key = keyOf(tenant, month);
    const sum = sums.get(key) ?? { runs: 0, seconds: 0 };
    sums.set(key, { runs: sum.runs + Number(runs), seconds: sum.seconds + Number(seconds) });
    byOutcome.set(keyOf(tenant, month, outcome ?? ''), Number(runs));
  }
  const found: LedgerMismatch[] = [];
  const compare = (at: Omit<LedgerMismatch, 'total' | 'journal'>, total: number, expected: number) => {
    if (total !== expected) found.push({ ...at, total, journal: expected });
  };
  for (const row of await db.selectFrom('monthly_totals').selectAll().execute()) {
    const { tenant, month } = row;
    const sum = sums.get(keyOf(tenant, month)) ?? { runs: 0, seconds: 0 };
    sums.delete(keyOf(tenant, month));
    const runs = Number(row.compute_runs) - Number(row.pruned_runs);
    const seconds = Number(row.compute_seconds) - Number(row.pruned_seconds);
    compare({ tenant, month, meter: 'compute_runs' }, runs, sum.runs);
    compare({ tenant, month, meter: 'compute_seconds' }, seconds, sum.seconds);
  }
  for (const row of await db.selectFrom('monthly_outcomes').selectAll().execute()) {
    const { tenant, month } = row;
    const key = keyOf(tenant, month, row.outcome);
    const runs = Number(row.runs) - Number(row.pruned_runs);
    compare({ tenant, month, meter: 'outcomes' }, runs, byOutcome.get(key) ?? 0);
    byOutcome.delete(key);
  }
  // What is left has journal rows and no total at all.
  for (const [key, { runs }] of sums) {
    const [tenant = '', month = ''] = JSON.parse(key) as string[];
    compare({ tenant, month, meter: 'compute_runs' }, 0, runs);
  }
  for (const [key, runs] of byOutcome) {
    const [tenant = '', month = ''] = JSON.parse(key) as string[];
    compare({ tenant, month, meter: 'outcomes' }, 0, runs);
  }
  return found;
}

function keyOf(...parts: string[]): string {
  return JSON.stringify(parts);
}

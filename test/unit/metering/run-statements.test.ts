import type { KyselyPlugin } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SqlDialect } from '../../../src/metering/sql-dialect.ts';
import { type Bench, createBench, openPermit, UNLIMITED } from './fixture.ts';
import { STORES } from './store.ts';

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(() => bench.close());

  /** The store's dialect, and what is executed on its connections: statements in transactions and by themselves. */
  function countingDialect(): { dialect: SqlDialect; taken(): { statements: number; transactions: number } } {
    const dialect = bench.store.dialect();
    let statements = 0;
    let transactions = 0;
    const count: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        statements += 1;
        return result;
      },
    };
    return {
      dialect: {
        ...dialect,
        async connect() {
          const db = (await dialect.connect()).withPlugin(count);
          const transaction = db.transaction.bind(db);
          vi.spyOn(db, 'transaction').mockImplementation(() => {
            transactions += 1;
            return transaction();
          });
          return db;
        },
      },
      taken() {
        const counts = { statements, transactions };
        statements = 0;
        transactions = 0;
        return counts;
      },
    };
  }

  it('takes few statements for a run, and on PostgreSQL no transaction around a single one', async () => {
    const { dialect, taken } = countingDialect();
    const meter = bench.meter(bench.ledger({ dialect }));
    await (await openPermit(meter)).release();
    taken();
    const permit = await openPermit(meter, { computeRuns: 10, computeSeconds: 10 });
    expect(taken()).toEqual({ statements: 3, transactions: 1 });
    await permit.started('c0de');
    expect(taken()).toEqual({ statements: 1, transactions: dialect.loneStatements ? 0 : 1 });
    await permit.settle(1n, 'succeeded');
    expect(taken()).toEqual({ statements: 3, transactions: 1 });
    await permit.release();
    expect(taken()).toEqual({ statements: 0, transactions: 0 });
  });

  it('sends the values of each run, of one tenant after another', async () => {
    const ledger = bench.ledger();
    const at = (second: number) => new Date(Date.UTC(2026, 10, 5, 12, 0, second));
    for (const [second, tenant] of ['acme', 'globex', 'acme'].entries()) {
      const runId = `r${second}`;
      const entry = { runId, tenant, packDigest: `p${second}`, instance: `i${second}` };
      expect(await ledger.open(entry, UNLIMITED, at(second))).toEqual({ kind: 'opened', month: '2026-11' });
      expect(await ledger.started(runId, `c${second}`, at(second + 10))).toBe(true);
      const seconds = second + 1;
      const charge = { finishedAt: at(second + 20), wallNs: BigInt(second), seconds } as const;
      await ledger.settle(runId, { ...charge, outcome: second === 0 ? 'timeout' : 'succeeded' });
    }
    const columns =
      'id, tenant, opened_at, started_at, finished_at, wall_ns, seconds, pack_digest, code_sha256, instance';
    const rows = await bench.store.sql(`select ${columns} from journal order by id`);
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['r0', 'acme', ...[0, 10, 20].map((s) => at(s).getTime()), 0, 1, 'p0', 'c0', 'i0'],
      ['r1', 'globex', ...[1, 11, 21].map((s) => at(s).getTime()), 1, 2, 'p1', 'c1', 'i1'],
      ['r2', 'acme', ...[2, 12, 22].map((s) => at(s).getTime()), 2, 3, 'p2', 'c2', 'i2'],
    ]);
    expect(await ledger.verify()).toEqual([]);
    expect(await ledger.usage('acme', '2026-11', at(0))).toMatchObject({ computeRuns: 2, computeSeconds: 4 });
  });
});

import type { Kysely } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { migrate } from '../../../src/metering/migrate.ts';
import { MIGRATIONS } from '../../../src/metering/migrations/versions.ts';
import { type Bench, createBench, openPermit } from './fixture.ts';
import { STORES } from './store.ts';

const LATEST = Math.max(...MIGRATIONS.map(({ version }) => version));

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(() => bench.close());

  const versions = async () =>
    (await bench.store.sql('select version from schema_version order by version')).map(
      ({ version }) => version,
    );

  /** Brings the store to an earlier version, as the code of that version did. */
  async function migrateTo(version: number): Promise<void> {
    const dialect = bench.store.dialect();
    const db = await dialect.connect();
    const steps = MIGRATIONS.filter((step) => step.version <= version);
    await migrate(db, dialect, systemClock.now(), steps);
    await db.destroy();
  }

  it('writes the versions of the schema, and migrates once', async () => {
    const meter = bench.meter(bench.ledger());
    await meter.recover();
    await meter.close();
    await bench.ledger().verify();
    expect(await versions()).toEqual(MIGRATIONS.map(({ version }) => version));
  });

  it.each(MIGRATIONS.map(({ version }) => version))(
    'brings a ledger of version %i up to date with what it holds',
    async (version) => {
      await migrateTo(version);
      await bench.store.sql(
        `insert into journal (id, tenant, month, opened_at, started_at, finished_at, state, wall_ns, seconds,
           outcome, pack_digest, code_sha256, instance)
         values ('old', 'acme', '2026-10', 1, 2, 3, 'settled', 5, 7, 'succeeded', 'p', 'c', 'gone')`,
      );
      await bench.store.sql(
        "insert into monthly_totals (month, tenant, compute_runs, compute_seconds) values ('2026-10', 'acme', 1, 7)",
      );
      await bench.store.sql(
        "insert into monthly_outcomes (month, tenant, outcome, runs) values ('2026-10', 'acme', 'succeeded', 1)",
      );
      const ledger = bench.ledger();
      const meter = bench.meter(ledger);
      expect(await meter.usage('acme', '2026-10')).toMatchObject({ computeRuns: 1, computeSeconds: 7 });
      const permit = await openPermit(meter);
      await permit.started('c0de');
      await permit.settle(1n, 'succeeded');
      expect(await ledger.verify()).toEqual([]);
      expect(await versions()).toEqual(MIGRATIONS.map((step) => step.version));
    },
  );

  it('leaves each version fit for the code of the one before, which knows none of its columns', async () => {
    for (const { version } of MIGRATIONS) {
      await migrateTo(version);
      // What version 1 writes; later ones may add columns, and none that must be given.
      await bench.store.sql(
        `insert into journal (id, tenant, month, opened_at, state, pack_digest, instance)
         values (?, 'acme', '2026-10', 1, 'open', 'p', 'old')`,
        [`run-${version}`],
      );
    }
    expect(await bench.store.sql('select count(*) as n from journal')).toEqual([{ n: MIGRATIONS.length }]);
  });

  it('applies only the steps that are missing, and nothing of a step that fails', async () => {
    const dialect = bench.store.dialect();
    const db = await dialect.connect();
    await migrate(db, dialect, systemClock.now());
    const addExtra = async (schema: Kysely<never>) => {
      await schema.schema.alterTable('journal').addColumn('extra', 'text').execute();
    };
    const broken = {
      version: LATEST + 1,
      up: async (schema: Kysely<never>) => {
        await addExtra(schema);
        throw new Error('broken step');
      },
    };
    await expect(migrate(db, dialect, systemClock.now(), [...MIGRATIONS, broken])).rejects.toThrow('broken');
    await expect(bench.store.sql('select extra from journal')).rejects.toThrow();
    const sound = { version: LATEST + 1, up: addExtra };
    await migrate(db, dialect, systemClock.now(), [...MIGRATIONS, sound]);
    await migrate(db, dialect, systemClock.now(), [...MIGRATIONS, sound]);
    expect(await bench.store.sql('select extra from journal')).toEqual([]);
    await db.destroy();
  });

  it.each([
    [LATEST + 1, true],
    [LATEST + 2, false],
  ])('on a ledger of schema %i works: %s', async (version, works) => {
    const first = bench.ledger();
    await first.verify();
    await first.close();
    await bench.store.sql('insert into schema_version (version, applied_at) values (?, 0)', [version]);
    const ready = await bench.meter(bench.ledger()).ready();
    expect(ready.ok).toBe(works);
    if (!works) expect(ready.detail).toContain('newer version');
  });

  it('refuses a state that is none', async () => {
    await bench.ledger().verify();
    const insert = `insert into journal (id, tenant, month, opened_at, state, pack_digest, instance)
      values ('x', 'acme', '2026-11', 0, 'paid', 'p', 'i')`;
    await expect(bench.store.sql(insert)).rejects.toThrow(/check/i);
  });

  it('tells an observer about each operation and whether it worked', async () => {
    const seen: string[] = [];
    const ledger = bench.ledger({ observe: (op, ms, ok) => seen.push(`${op} ${ms >= 0} ${ok}`) });
    const meter = bench.meter(ledger);
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    await ledger.close();
    await expect(ledger.verify()).rejects.toThrow('closed');
    expect(seen).toEqual([
      'recover true true',
      'open true true',
      'started true true',
      'settle true true',
      'verify true false',
    ]);
  });

  it('asks the ledger nothing for a step of a permit that has no effect', async () => {
    const seen: string[] = [];
    const meter = bench.meter(bench.ledger({ observe: (op) => seen.push(op) }));
    const permit = await openPermit(meter);
    await permit.amend('exception');
    await permit.started('c0de');
    await permit.started('c0de');
    await permit.release();
    await permit.settle(1n, 'succeeded');
    await permit.settle(1n, 'succeeded');
    await permit.release();
    expect(seen).toEqual(['recover', 'open', 'started', 'settle']);
  });
});

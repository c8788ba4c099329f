import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { migrate } from '../../../src/metering/migrate.ts';
import { MIGRATIONS } from '../../../src/metering/migrations/versions.ts';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';
import { type Bench, createBench, openPermit } from './fixture.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.close());

it('opens the file with write-ahead log, a full sync at every commit and hardly any blocking wait', async () => {
  const db = await sqliteDialect({ path: bench.path }).connect();
  const pragma = async (name: string) => (await sql.raw(`pragma ${name}`).execute(db)).rows[0];
  expect(await pragma('journal_mode')).toEqual({ journal_mode: 'wal' });
  expect(await pragma('synchronous')).toEqual({ synchronous: 2 });
  const { timeout } = (await pragma('busy_timeout')) as { timeout: number };
  expect(timeout).toBeLessThanOrEqual(50);
  await db.destroy();
});

it('takes the write lock when a transaction begins', async () => {
  const db = await sqliteDialect({ path: bench.path }).connect();
  const other = new Database(bench.path, { timeout: 0 });
  await db.transaction().execute(async () => {
    expect(() => other.exec('begin immediate')).toThrow('locked');
  });
  other.exec('begin immediate');
  other.close();
  await db.destroy();
});

it('writes the version of the schema, and migrates once', async () => {
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  await meter.close();
  const again = bench.ledger();
  await again.verify();
  const db = new Database(bench.path);
  expect(db.prepare('select version from schema_version').all([])).toEqual([{ version: 1 }]);
  db.close();
});

it('applies only the steps that are missing, and nothing of a step that fails', async () => {
  const dialect = sqliteDialect({ path: bench.path });
  const db = await dialect.connect();
  await migrate(db, dialect, systemClock.now());
  const columns = async () =>
    (await sql<{ name: string }>`select name from pragma_table_info('journal')`.execute(db)).rows.map(
      ({ name }) => name,
    );
  const broken = {
    version: 2,
    up: async (schema: Parameters<(typeof MIGRATIONS)[0]['up']>[0]) => {
      await schema.schema.alterTable('journal').addColumn('extra', 'text').execute();
      throw new Error('broken step');
    },
  };
  await expect(migrate(db, dialect, systemClock.now(), [...MIGRATIONS, broken])).rejects.toThrow('broken');
  expect(await columns()).not.toContain('extra');
  const sound = {
    version: 2,
    up: async (schema: Parameters<(typeof MIGRATIONS)[0]['up']>[0]) => {
      await schema.schema.alterTable('journal').addColumn('extra', 'text').execute();
    },
  };
  await migrate(db, dialect, systemClock.now(), [...MIGRATIONS, sound]);
  await migrate(db, dialect, systemClock.now(), [...MIGRATIONS, sound]);
  expect(await columns()).toContain('extra');
  await db.destroy();
});

it.each([
  [2, true],
  [3, false],
])('on a ledger of schema %i works: %s', async (version, works) => {
  const first = bench.ledger();
  await first.verify();
  await first.close();
  const db = new Database(bench.path);
  db.prepare('insert into schema_version (version, applied_at) values (?, 0)').run([version]);
  db.close();
  const meter = bench.meter(bench.ledger());
  const ready = await meter.ready();
  expect(ready.ok).toBe(works);
  if (!works) expect(ready.detail).toContain('newer version');
});

it('refuses a state that is none', async () => {
  const ledger = bench.ledger();
  await ledger.verify();
  const db = new Database(bench.path);
  const insert = `insert into journal (id, tenant, month, opened_at, state, pack_digest, instance)
    values ('x', 'acme', '2026-11', 0, 'paid', 'p', 'i')`;
  expect(() => db.exec(insert)).toThrow('CHECK');
  db.close();
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

it('has what is settled in its files without being closed', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  await permit.started('c0de-digest');
  await permit.settle(1n, 'succeeded');
  expect(readFileSync(`${bench.path}-wal`).includes('c0de-digest')).toBe(true);
});

import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';
import { type Bench, createBench, openPermit } from './fixture.ts';

let bench: Bench;
let path: string;
beforeEach(async () => {
  bench = await createBench('sqlite');
  path = bench.store.url.replace('sqlite:', '');
});
afterEach(() => bench.close());

it('opens the file with write-ahead log, a full sync at every commit and hardly any blocking wait', async () => {
  const db = await sqliteDialect({ path }).connect();
  const pragma = async (name: string) => (await sql.raw(`pragma ${name}`).execute(db)).rows[0];
  expect(await pragma('journal_mode')).toEqual({ journal_mode: 'wal' });
  expect(await pragma('synchronous')).toEqual({ synchronous: 2 });
  const { timeout } = (await pragma('busy_timeout')) as { timeout: number };
  expect(timeout).toBeLessThanOrEqual(50);
  await db.destroy();
});

it('takes the write lock when a transaction begins', async () => {
  const db = await sqliteDialect({ path }).connect();
  const other = new Database(path, { timeout: 0 });
  await db.transaction().execute(async () => {
    expect(() => other.exec('begin immediate')).toThrow('locked');
  });
  other.exec('begin immediate');
  other.close();
  await db.destroy();
});

it('has what is settled in its files without being closed', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  await permit.started('c0de-digest');
  await permit.settle(1n, 'succeeded');
  expect(readFileSync(`${path}-wal`).includes('c0de-digest')).toBe(true);
});

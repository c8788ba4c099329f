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

it.each(['release', 'started', 'settle'] as const)(
  'writes again as soon as another holder of the lock lets go, after %s gave up on it',
  async (op) => {
    const ledger = bench.ledger({ lockWaitMs: 100 });
    const permit = await openPermit(bench.meter(ledger));
    const now = new Date();
    const charge = { finishedAt: now, wallNs: 1n, seconds: 1, outcome: 'succeeded' } as const;
    const attempt = {
      release: () => ledger.release(permit.runId, now, true),
      started: () => ledger.started(permit.runId, 'c0de', now),
      settle: () => ledger.settle(permit.runId, charge),
    }[op];
    const other = new Database(path, { timeout: 1000 });
    other.exec('begin immediate');
    await expect(attempt()).rejects.toThrow('busy');
    other.exec('rollback');
    other.close();
    // Each operation once: none of them may need a second try to get over what the lock left behind.
    expect((await ledger.usage(permit.tenant, null, now)).openPermits).toBe(1);
    await attempt();
    await ledger.settle(permit.runId, charge);
    expect((await ledger.usage(permit.tenant, null, now)).openPermits).toBe(0);
  },
);

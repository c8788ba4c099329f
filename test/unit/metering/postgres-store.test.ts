import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { LedgerUnavailable } from '../../../src/metering/ledger.ts';
import { postgresDialect } from '../../../src/metering/postgres-dialect.ts';
import { createSqlLedger } from '../../../src/metering/sql-ledger.ts';
import { type CuttableProxy, startProxy } from '../../fakes/cuttable-proxy.ts';
import { sharedPostgres } from '../../fakes/postgres-shared.ts';
import { type Bench, createBench, openPermit, UNLIMITED } from './fixture.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench('postgres');
});
afterEach(() => bench.close());

const setting = async (url: string, name: string): Promise<string> => {
  const db = await postgresDialect({ url }).connect();
  const { rows } = await db.executeQuery<Record<string, string>>({
    sql: `show ${name}`,
    parameters: [],
    query: { kind: 'RawNode' } as never,
    queryId: { queryId: name },
  });
  await db.destroy();
  return rows[0]?.[name] ?? '';
};

it('bounds every wait on the server', async () => {
  expect(await setting(bench.store.url, 'statement_timeout')).toBe('4s');
  expect(await setting(bench.store.url, 'lock_timeout')).toBe('1s');
  expect(await setting(bench.store.url, 'idle_in_transaction_session_timeout')).toBe('10s');
});

it('waits for the disk at a commit, also where the database is set not to, and keeps what is stricter', async () => {
  const as = (value: string) => `${bench.store.url}%20-c%20synchronous_commit%3D${value}`;
  expect(await setting(as('off'), 'synchronous_commit')).toBe('on');
  expect(await setting(as('remote_apply'), 'synchronous_commit')).toBe('remote_apply');
});

it('takes integers past 2^53 for a fault, and never rounds one', async () => {
  const ledger = bench.ledger();
  await ledger.verify();
  const insert = 'insert into monthly_totals (month, tenant, compute_runs) values (?, ?, ?)';
  await bench.store.sql(insert, ['2026-11', 'acme', '9007199254740991']);
  expect(await ledger.usage('acme', '2026-11', new Date())).toMatchObject({ computeRuns: 9007199254740991 });
  await bench.store.sql("update monthly_totals set compute_runs = '9007199254740993'");
  await expect(ledger.usage('acme', '2026-11', new Date())).rejects.toThrow('2^53');
});

it('takes a server that ends its sessions for lost, and joins it again by itself', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  await permit.started('c0de');
  await bench.store.sql('select pg_terminate_backend(pid) from pg_stat_activity where application_name = ?', [
    bench.store.sessions,
  ]);
  expect(await permit.settle(1n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 1 });
  await expect.poll(() => meter.ready(), { timeout: 20_000 }).toMatchObject({ ok: true });
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: 0 });
});

it('says neither the password nor the URL when it cannot connect', async () => {
  const url = 'postgres://ledger:hunter2-secret@127.0.0.1:1/nowhere';
  const ledger = createSqlLedger({ dialect: postgresDialect({ url }), clock: systemClock });
  const error = await ledger.verify().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LedgerUnavailable);
  expect((error as Error).message).not.toContain('hunter2');
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hunter2');
  await ledger.close();
});

it.each([
  ['while it is connected', true],
  ['before it connects', false],
])('gives up on a server that has vanished without a word %s', async (_, connected) => {
  const folder = await sharedPostgres(inject('postgresFolder'));
  const proxy: CuttableProxy = await startProxy(join(folder, '.s.PGSQL.5432'));
  const url = bench.store.url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${proxy.port}`);
  const ledger = createSqlLedger({ dialect: postgresDialect({ url }), clock: systemClock });
  if (connected) await ledger.verify();
  proxy.freeze();
  await expect(ledger.verify()).rejects.toThrow(LedgerUnavailable);
  await proxy.cut();
  await ledger.close();
});

it('sees no permit of a process that joins during a recovery without its lease', async () => {
  const ledger = bench.ledger();
  await ledger.verify();
  const at = new Date('2026-11-05T12:00:00Z');
  const lease = (instance: string) => ({ instance, now: at, expiresAt: new Date(at.getTime() + 30_000) });
  // A row of the list of processes is locked, so the recovery has read the list when it waits for that row …
  await ledger.recover(lease('gone'), 10_000);
  await bench.store.sql('update instances set expires_at = 0');
  const holder = new pg.Client({ connectionString: bench.store.url });
  await holder.connect();
  await holder.query('begin');
  await holder.query("select 1 from instances where instance = 'gone' for update");
  const recovering = ledger.recover(lease('recovering'), 10_000);
  await expect
    .poll(
      () =>
        bench.store.sql("select 1 as waits from pg_locks where not granted and locktype = 'transactionid'"),
      { timeout: 20_000, interval: 20 },
    )
    .toEqual([{ waits: 1 }]);
  // … and here another process joins and opens a permit, before the recovery looks at the permits.
  const other = bench.ledger();
  await other.recover({ ...lease('joining'), now: new Date(-1) }, 10_000).catch(() => {});
  await other.renew(lease('joining'));
  await other.open({ runId: 'r1', tenant: 'acme', packDigest: 'p', instance: 'joining' }, UNLIMITED, at);
  await holder.query('commit');
  await holder.end();
  expect(await recovering).toEqual({ settled: 0, released: 0 });
  expect(await ledger.usage('acme', '2026-11', at)).toMatchObject({ openPermits: 1 });
});

it('waits for a row longer than the server lets one statement wait', async () => {
  const meter = bench.meter(bench.ledger());
  await (await openPermit(meter)).release();
  const unlock = await bench.store.lock('acme');
  const opening = openPermit(meter);
  await sleep(1500);
  await unlock();
  expect(await opening).toMatchObject({ tenant: 'acme' });
});

it.each([
  ['40001', 'busy', 'a snapshot that was overtaken'],
  ['40P01', 'busy', 'a deadlock, of which one must go'],
  ['55P03', 'busy', 'a lock that was not given in time'],
  ['57014', 'busy', 'a statement past its time'],
  ['53100', 'full', 'a full disk'],
  ['53200', 'full', 'no memory left'],
  ['53300', 'lost', 'too many connections'],
  ['57P01', 'lost', 'an administrator’s shutdown'],
  ['57P03', 'lost', 'a server that is starting'],
  ['25006', 'lost', 'a standby that takes no writes'],
  ['28P01', 'lost', 'a wrong password'],
  ['3D000', 'lost', 'no such database'],
  ['42P01', 'lost', 'a table that was taken away'],
  ['23505', 'bug', 'a run id that was used'],
  ['22003', 'bug', 'a number out of range'],
  ['42601', 'bug', 'a statement that is none'],
])('takes SQLSTATE %s for %s: %s', (code, fault) => {
  const error = Object.assign(new pg.DatabaseError('x', 1, 'error'), { code });
  expect(postgresDialect({ url: bench.store.url }).faultOf(error)).toBe(fault);
});

it.each([
  [new Error('Connection terminated unexpectedly'), 'lost'],
  [new Error('Client has encountered a connection error and is not queryable'), 'lost'],
  [new Error('Query read timeout'), 'lost'],
  [Object.assign(new Error('read ECONNRESET'), { syscall: 'read' }), 'lost'],
  [new TypeError('undefined is not a function'), 'bug'],
  ['text', 'bug'],
])('takes %s of the driver for %s', (error, fault) => {
  expect(postgresDialect({ url: bench.store.url }).faultOf(error)).toBe(fault);
});

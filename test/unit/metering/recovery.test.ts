import { existsSync, readdirSync } from 'node:fs';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Lease, Ledger, Recovery } from '../../../src/metering/ledger.ts';
import type { Usage } from '../../../src/metering/permit.ts';
import { createSqlLedger } from '../../../src/metering/sql-ledger.ts';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';
import { type LedgerChild, startChild } from './child-process.ts';
import { type Bench, createBench, fakeClock, openPermit, UNLIMITED, WALL_LIMIT_MS } from './fixture.ts';

let bench: Bench;
const children: LedgerChild[] = [];
beforeEach(() => {
  bench = createBench();
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await bench.close();
});

async function child(): Promise<LedgerChild> {
  const started = await startChild(bench.path, 'child');
  children.push(started);
  return started;
}

it.each([
  ['after open', ['open'], { computeRuns: 0, outcomes: {} }],
  ['after started, before settle', ['open', 'start'], { computeRuns: 1, outcomes: { sandbox_lost: 1 } }],
  ['after settle', ['open', 'start', 'settle'], { computeRuns: 1, outcomes: { succeeded: 1 } }],
])('counts a run right when its process is killed %s, at once and only once', async (_, ops, expected) => {
  const dead = await child();
  for (const op of ops) await dead.ask({ op });
  await dead.kill();
  const ledger = bench.ledger();
  const meter = bench.meter(ledger);
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ ...expected, openPermits: 0 });
  await meter.recover();
  const again = bench.meter(bench.ledger());
  await again.recover();
  expect(await again.usage('acme')).toMatchObject({ ...expected, openPermits: 0 });
  expect(await ledger.verify()).toEqual([]);
});

it('does not touch the runs of a process that lives, until it is killed', async () => {
  const alive = await child();
  await alive.ask({ op: 'open', count: 3 });
  await alive.ask({ op: 'start' });
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 3, computeRuns: 0 });
  await alive.kill();
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 3 });
});

it('takes a stopped process for alive, however long it is stopped and whatever the clock says', async () => {
  const stopped = await child();
  await stopped.ask({ op: 'open' });
  stopped.process.kill('SIGSTOP');
  const meter = bench.meter(bench.ledger(), fakeClock('2036-01-01T00:00:00Z'));
  await meter.recover();
  const month = systemClock.now().toISOString().slice(0, 7);
  expect(await meter.usage('acme', month)).toMatchObject({ openPermits: 1 });
  stopped.process.kill('SIGCONT');
  expect(await stopped.ask({ op: 'start' })).toEqual([true]);
});

it('ends what another process leaves while it runs itself, without being asked', async () => {
  const dying = await child();
  const recovered: Recovery[] = [];
  const events = { recovered: (recovery: Recovery) => recovered.push(recovery) };
  const meter = bench.meter(bench.ledger(), systemClock, events, 300);
  await meter.recover();
  await dying.ask({ op: 'open' });
  await dying.ask({ op: 'start' });
  await dying.kill();
  await expect.poll(() => recovered, { timeout: 20_000 }).toEqual([{ settled: 1, released: 0 }]);
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: 0 });
});

it('lets two processes recover the same dead one and counts its run once', async () => {
  const dead = await child();
  await dead.ask({ op: 'open', count: 4 });
  await dead.ask({ op: 'start' });
  await dead.kill();
  const meters = [bench.meter(bench.ledger()), bench.meter(bench.ledger()), bench.meter(bench.ledger())];
  await Promise.all(meters.map((meter) => meter.recover()));
  expect(await meters[0]?.usage('acme')).toMatchObject({ computeRuns: 4, openPermits: 0 });
});

it('recovers before the first permit is opened, if nobody asked it to', async () => {
  const dead = await child();
  await dead.ask({ op: 'open' });
  await dead.kill();
  const meter = bench.meter(bench.ledger());
  await openPermit(meter, { computeRuns: 1, computeSeconds: null });
});

it.each([
  ['the time since the start', '2026-11-05T12:00:03.200Z', 4, 3_200_000_000],
  ['at most the wall limit', '2026-11-05T18:00:00Z', 10, 10_000_000_000],
  ['one second where the clock went back', '2026-11-05T11:00:00Z', 1, 0],
])('charges a lost run %s', async (_, recoveredAt, computeSeconds, wallNs) => {
  const clock = fakeClock('2026-11-05T12:00:00Z');
  const crashed = bench.ledger();
  const permit = await openPermit(bench.meter(crashed, clock));
  await permit.started('c0de');
  await crashed.close();
  clock.set(recoveredAt);
  const meter = bench.meter(bench.ledger(), clock);
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, computeSeconds });
  const db = new Database(bench.path);
  expect(db.prepare('select wall_ns from journal').all([])).toEqual([{ wall_ns: wallNs }]);
  db.close();
});

it('leaves no lease and no lock behind when it is closed', async () => {
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  expect(readdirSync(`${bench.path}.instances`)).toHaveLength(1);
  await meter.close();
  expect(readdirSync(`${bench.path}.instances`)).toHaveLength(0);
});

it('ends many left rows, more than one batch', async () => {
  const crashed = bench.ledger();
  const meter = bench.meter(crashed);
  for (let run = 0; run < 501; run += 1) await openPermit(meter);
  await crashed.close();
  const next = bench.meter(bench.ledger());
  await next.recover();
  expect(await next.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
});

/** A store on which nothing but the lease tells whether a process lives, as on a database server. */
function leaseOnlyLedger(): Ledger {
  const dialect = { ...sqliteDialect({ path: bench.path }), claim() {}, forget() {}, isAlive: () => null };
  return createSqlLedger({ dialect, clock: systemClock });
}

const at = (seconds: number): Date => new Date(Date.parse('2026-11-05T12:00:00Z') + seconds * 1000);
const lease = (instance: string, from: number, to: number): Lease => ({
  instance,
  now: at(from),
  expiresAt: at(to),
});

it('goes by the lease where the store cannot tell, and renewing keeps it', async () => {
  const ledger = leaseOnlyLedger();
  const usage = (): Promise<Usage> => ledger.usage('acme', '2026-11', at(0));
  await ledger.recover(lease('a', 0, 30), WALL_LIMIT_MS);
  const entry = { runId: 'r1', tenant: 'acme', packDigest: 'p', instance: 'a' };
  await ledger.open(entry, UNLIMITED, at(0));
  await ledger.started('r1', 'c0de', at(1));
  expect(await ledger.recover(lease('b', 29, 59), WALL_LIMIT_MS)).toEqual({ settled: 0, released: 0 });
  await ledger.renew(lease('a', 29, 59));
  expect(await ledger.recover(lease('b', 58, 88), WALL_LIMIT_MS)).toEqual({ settled: 0, released: 0 });
  expect(await ledger.recover(lease('b', 60, 90), WALL_LIMIT_MS)).toEqual({ settled: 1, released: 0 });
  expect(await usage()).toMatchObject({ computeRuns: 1, outcomes: { sandbox_lost: 1 } });
  // The process was only slow: its own settle comes too late, and counts nothing more.
  const charge = { finishedAt: at(61), wallNs: 1n, seconds: 1, outcome: 'succeeded' } as const;
  expect(await ledger.settle('r1', charge)).toBe(10);
  expect(await usage()).toMatchObject({ computeRuns: 1, computeSeconds: 10 });
  await ledger.close();
});

it('takes rows of an instance without any lease for left behind', async () => {
  const ledger = leaseOnlyLedger();
  const entry = { runId: 'r1', tenant: 'acme', packDigest: 'p', instance: 'gone' };
  await ledger.open(entry, UNLIMITED, at(0));
  expect(await ledger.recover(lease('b', 0, 30), WALL_LIMIT_MS)).toEqual({ settled: 0, released: 1 });
  expect(await ledger.started('r1', 'c0de', at(1))).toBe(false);
  await ledger.close();
});

it('refuses a second process under one instance name', async () => {
  const one = bench.ledger();
  const two = bench.ledger();
  await one.recover(lease('same', 0, 30), WALL_LIMIT_MS);
  await expect(two.recover(lease('same', 0, 30), WALL_LIMIT_MS)).rejects.toThrow('instance name');
  await one.leave('same');
  await two.recover(lease('same', 0, 30), WALL_LIMIT_MS);
  expect(existsSync(`${bench.path}.instances`)).toBe(true);
});

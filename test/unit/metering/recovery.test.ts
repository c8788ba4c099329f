import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Lease, Ledger, Recovery } from '../../../src/metering/ledger.ts';
import type { Usage } from '../../../src/metering/permit.ts';
import { type LedgerChild, startChild } from './child-process.ts';
import { type Bench, createBench, fakeClock, openPermit, UNLIMITED, WALL_LIMIT_MS } from './fixture.ts';
import { STORES } from './store.ts';

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  const children: LedgerChild[] = [];
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await child.kill();
    await bench.close();
  });

  async function child(leaseMs?: number): Promise<LedgerChild> {
    const started = await startChild(bench.store.url, 'child', {}, leaseMs);
    children.push(started);
    return started;
  }

  /** Lets every lease run out: a database server cannot tell sooner that a process is gone. */
  async function leasesRunOut(): Promise<void> {
    if (kind === 'postgres') await bench.store.sql('update instances set expires_at = 0');
  }

  it.each([
    ['after open', ['open'], { computeRuns: 0, outcomes: {} }],
    ['after started, before settle', ['open', 'start'], { computeRuns: 1, outcomes: { sandbox_lost: 1 } }],
    ['after settle', ['open', 'start', 'settle'], { computeRuns: 1, outcomes: { succeeded: 1 } }],
  ])('counts a run right when its process is killed %s, and only once', async (_, ops, expected) => {
    const dead = await child();
    for (const op of ops) await dead.ask({ op });
    await dead.kill();
    await leasesRunOut();
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

  it('ends what another process leaves while it runs itself, without being asked', async () => {
    const dying = await child(2000);
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

  it('lets several recover the same dead one and counts its run once', async () => {
    const dead = await child();
    await dead.ask({ op: 'open', count: 4 });
    await dead.ask({ op: 'start' });
    await dead.kill();
    await leasesRunOut();
    const meters = [bench.meter(bench.ledger()), bench.meter(bench.ledger()), bench.meter(bench.ledger())];
    await Promise.all(meters.map((meter) => meter.recover()));
    expect(await meters[0]?.usage('acme')).toMatchObject({ computeRuns: 4, openPermits: 0 });
  });

  it('recovers before the first permit is opened, if nobody asked it to', async () => {
    const dead = await child();
    await dead.ask({ op: 'open' });
    await dead.kill();
    await leasesRunOut();
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
    await leasesRunOut();
    clock.set(recoveredAt);
    const meter = bench.meter(bench.ledger(), clock);
    await meter.recover();
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, computeSeconds });
    expect(await bench.store.sql('select wall_ns from journal')).toEqual([{ wall_ns: wallNs }]);
  });

  it('ends many left rows, more than one batch', async () => {
    const crashed = bench.ledger();
    const meter = bench.meter(crashed);
    for (let run = 0; run < 501; run += 1) await openPermit(meter);
    await crashed.close();
    await leasesRunOut();
    const next = bench.meter(bench.ledger());
    await next.recover();
    expect(await next.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
  });

  /** A ledger on which nothing but the lease tells whether a process lives: any on a database server. */
  function leaseOnly(): Ledger {
    return bench.ledger({
      dialect: { ...bench.store.dialect(), claim() {}, forget() {}, isAlive: () => null },
    });
  }

  const at = (seconds: number): Date => new Date(Date.parse('2026-11-05T12:00:00Z') + seconds * 1000);
  const lease = (instance: string, from: number, to: number): Lease => ({
    instance,
    now: at(from),
    expiresAt: at(to),
  });

  it('goes by the lease where the store cannot tell, and renewing keeps it', async () => {
    const ledger = leaseOnly();
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
    expect(await ledger.settle('r1', charge)).toMatchObject({ seconds: 10 });
    expect(await usage()).toMatchObject({ computeRuns: 1, computeSeconds: 10 });
    await ledger.close();
  });

  it('takes rows of an instance without any lease for left behind', async () => {
    const ledger = leaseOnly();
    const entry = { runId: 'r1', tenant: 'acme', packDigest: 'p', instance: 'gone' };
    await ledger.open(entry, UNLIMITED, at(0));
    expect(await ledger.recover(lease('b', 0, 30), WALL_LIMIT_MS)).toEqual({ settled: 0, released: 1 });
    expect(await ledger.started('r1', 'c0de', at(1))).toBe(false);
    await ledger.close();
  });
});

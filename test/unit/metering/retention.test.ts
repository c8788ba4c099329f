import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../src/metering/ledger.ts';
import type { Meter } from '../../../src/metering/permit.ts';
import { type Bench, createBench, fakeClock, openPermit } from './fixture.ts';
import { STORES } from './store.ts';

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  let ledger: Ledger;
  let meter: Meter;
  const clock = fakeClock('2026-11-05T12:00:00Z');

  beforeEach(async () => {
    bench = await createBench(kind);
    clock.set('2026-11-05T12:00:00Z');
    ledger = bench.ledger();
    meter = bench.meter(ledger, clock);
  });
  afterEach(() => bench.close());

  const sql = (statement: string) => bench.store.sql(statement);

  async function settled(outcome: 'succeeded' | 'timeout' = 'succeeded'): Promise<void> {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await permit.settle(1_500_000_000n, outcome);
  }

  it('removes what ended before the day given, keeps the totals and the rows that are still live', async () => {
    await settled();
    await settled('timeout');
    await (await openPermit(meter)).release();
    const open = await openPermit(meter);
    const started = await openPermit(meter);
    await started.started('c0de');
    clock.set('2026-11-20T12:00:00Z');
    await settled();
    const before = await meter.usage('acme');
    expect(await ledger.prune(new Date('2026-11-05T12:00:00Z'))).toBe(0);
    expect(await ledger.prune(new Date('2026-11-20T12:00:00Z'))).toBe(3);
    expect(await sql('select state from journal order by state')).toEqual([
      { state: 'open' },
      { state: 'settled' },
      { state: 'started' },
    ]);
    expect(await meter.usage('acme')).toEqual(before);
    expect(before).toMatchObject({ computeRuns: 3, computeSeconds: 6, openPermits: 2 });
    expect(await ledger.verify()).toEqual([]);
    await open.release();
    await started.settle(1n, 'succeeded');
    expect(await ledger.verify()).toEqual([]);
  });

  it('removes more than one batch', async () => {
    for (let run = 0; run < 501; run += 1) await (await openPermit(meter)).release();
    expect(await ledger.prune(new Date('2027-01-01T00:00:00Z'))).toBe(501);
    expect(await sql('select count(*) as n from journal')).toEqual([{ n: 0 }]);
  });

  it('does not reopen a month whose journal is gone', async () => {
    clock.set('2026-12-01T00:00:00Z');
    await settled();
    await ledger.prune(new Date('2027-01-01T00:00:00Z'));
    clock.set('2026-11-05T12:00:00Z');
    expect((await openPermit(meter)).month).toBe('2026-12');
  });

  it.each([
    ['a lost journal row', "delete from journal where outcome = 'timeout'", 3],
    ['a total that grew', 'update monthly_totals set compute_runs = compute_runs + 1', 1],
    ['seconds that shrank', 'update monthly_totals set compute_seconds = 0', 1],
    ['an outcome that was changed', "update journal set outcome = 'exception'", 3],
    ['totals that are gone', 'delete from monthly_totals', 1],
    ['outcome counts that are gone', 'delete from monthly_outcomes', 2],
    ['seconds changed in the journal', 'update journal set seconds = 7', 1],
  ])('verify finds %s', async (_, damage, mismatches) => {
    await settled();
    await settled('timeout');
    expect(await ledger.verify()).toEqual([]);
    await sql(damage);
    const found = await ledger.verify();
    expect(found).toHaveLength(mismatches);
    expect(found[0]).toMatchObject({ tenant: 'acme', month: '2026-11' });
  });
});

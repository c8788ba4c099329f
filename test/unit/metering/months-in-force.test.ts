import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { monthEnd, utcMonth } from '../../../src/metering/months.ts';
import { type Bench, codeOf, createBench, fakeClock, openPermit } from './fixture.ts';
import { STORES } from './store.ts';

it.each([
  ['2028-02-29T23:59:59.999Z', '2028-02', '2028-03-01T00:00:00.000Z'],
  ['2027-02-28T23:59:59.999Z', '2027-02', '2027-03-01T00:00:00.000Z'],
  ['2026-12-31T23:59:59.999Z', '2026-12', '2027-01-01T00:00:00.000Z'],
  ['2027-01-01T00:00:00.000Z', '2027-01', '2027-02-01T00:00:00.000Z'],
  ['2026-03-29T01:30:00.000Z', '2026-03', '2026-04-01T00:00:00.000Z'],
])('%s is in %s, which ends at %s', (at, month, end) => {
  expect(utcMonth(new Date(at))).toBe(month);
  expect(monthEnd(month).toISOString()).toBe(end);
});

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(() => bench.close());

  const ONE_RUN = { computeRuns: 1, computeSeconds: null };

  it.each([
    ['2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
  ])('counts a run in the month it was opened in: %s to %s', async (before, after) => {
    const clock = fakeClock(before);
    const meter = bench.meter(bench.ledger(), clock);
    const permit = await openPermit(meter, ONE_RUN);
    clock.set(after);
    // The open run of the old month does not hold the new one's quota.
    const next = await openPermit(meter, ONE_RUN);
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    expect(await meter.usage('acme', before.slice(0, 7))).toMatchObject({ computeRuns: 1, openPermits: 0 });
    expect(await meter.usage('acme')).toMatchObject({
      month: after.slice(0, 7),
      computeRuns: 0,
      openPermits: 1,
    });
    await next.release();
  });

  it('does not tell what a month came to once a later one has begun', async () => {
    const clock = fakeClock('2026-11-30T23:59:59Z');
    const meter = bench.meter(bench.ledger(), clock);
    const permit = await openPermit(meter);
    clock.set('2026-12-01T00:00:00Z');
    expect(await permit.settle(1n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 1 });
    expect(permit.used).toBeNull();
  });

  it('does not reopen a closed month when the clock is set back', async () => {
    const clock = fakeClock('2026-11-30T12:00:00Z');
    const meter = bench.meter(bench.ledger(), clock);
    clock.set('2026-12-01T00:00:01Z');
    const permit = await openPermit(meter, ONE_RUN);
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    clock.set('2026-11-30T12:00:00Z');
    const refused = await meter.open('acme', ONE_RUN, 'late', 'p');
    expect(refused).toMatchObject({ code: 'quota_exceeded', extra: { month: '2026-12' } });
    expect(await meter.check('acme', ONE_RUN)).toMatchObject({ extra: { month: '2026-12' } });
    expect(await meter.usage('acme')).toMatchObject({ month: '2026-12', computeRuns: 1 });
  });

  it('knows the newest month after a restart, and from another tenant', async () => {
    const clock = fakeClock('2026-12-01T00:00:01Z');
    const first = bench.meter(bench.ledger(), clock);
    await (await openPermit(first, ONE_RUN, 'globex')).release();
    await first.close();
    clock.set('2026-11-30T23:00:00Z');
    const second = bench.meter(bench.ledger(), clock);
    expect((await openPermit(second, ONE_RUN)).month).toBe('2026-12');
  });

  it('resets a spent quota with the month', async () => {
    const clock = fakeClock('2026-11-30T23:59:59Z');
    const meter = bench.meter(bench.ledger(), clock);
    const permit = await openPermit(meter, ONE_RUN);
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    expect(codeOf(await meter.open('acme', ONE_RUN, 'x', 'p'))).toBe('quota_exceeded');
    clock.set('2026-12-01T00:00:00Z');
    expect(codeOf(await meter.open('acme', ONE_RUN, 'y', 'p'))).toBe('permit');
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LedgerChild, startChild } from './child-process.ts';
import { type Bench, codeOf, createBench, openPermit } from './fixture.ts';
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

  const count = (codes: string[], code: string) => codes.filter((one) => one === code).length;

  it('lets one of twenty simultaneous calls take the last run', async () => {
    const meter = bench.meter(bench.ledger());
    const quotas = { computeRuns: 3, computeSeconds: null };
    for (let used = 0; used < 2; used += 1) {
      const permit = await openPermit(meter, quotas);
      await permit.started('c0de');
      await permit.settle(1n, 'succeeded');
    }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => meter.open('acme', quotas, `at-once-${index}`, 'p')),
    );
    const codes = answers.map(codeOf);
    expect(count(codes, 'permit')).toBe(1);
    expect(count(codes, 'quota_reserved')).toBe(19);
    const permit = answers.find((answer) => !('kind' in answer));
    if (permit === undefined || 'kind' in permit) throw new Error('no permit');
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    expect(codeOf(await meter.open('acme', quotas, 'after', 'p'))).toBe('quota_exceeded');
  });

  it('lets one of twenty calls from two processes on one store take the last run, time after time', async () => {
    const [one, two] = await Promise.all([
      startChild(bench.store.url, 'one'),
      startChild(bench.store.url, 'two'),
    ]);
    children.push(one, two);
    for (let round = 1; round <= 5; round += 1) {
      const ask = { op: 'open', count: 10, runs: round };
      const codes = (await Promise.all([one.ask(ask), two.ask(ask)])).flat() as string[];
      expect(codes).toHaveLength(20);
      expect(count(codes, 'permit')).toBe(1);
      expect(count(codes, 'quota_reserved')).toBe(19);
    }
    await Promise.all([one.ask({ op: 'start' }), two.ask({ op: 'start' })]);
    await Promise.all([one.ask({ op: 'settle' }), two.ask({ op: 'settle' })]);
    const ledger = bench.ledger();
    expect(await ledger.usage('acme', null, new Date())).toMatchObject({ computeRuns: 5, openPermits: 0 });
    expect(await ledger.verify()).toEqual([]);
  });

  it('migrates a new store once when several processes start at the same time', async () => {
    const ledgers = Array.from({ length: 6 }, () => bench.ledger());
    await Promise.all(ledgers.map((ledger) => ledger.usage('acme', '2026-11', new Date())));
    const third = await startChild(bench.store.url, 'third');
    children.push(third);
    expect(await third.ask({ op: 'ready' })).toMatchObject({ ok: true });
  });

  it('keeps totals and journal equal under runs that overlap', async () => {
    const ledger = bench.ledger();
    const meter = bench.meter(ledger);
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const permit = await openPermit(meter);
        if (index % 5 === 0) return permit.release();
        await permit.started('c0de');
        await permit.settle(BigInt(index) * 100_000_000n, 'succeeded');
        if (index % 7 === 0) await permit.amend('result_type_mismatch');
      }),
    );
    expect(await ledger.verify()).toEqual([]);
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 48, openPermits: 0 });
  });
});

import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ledger, LedgerUnavailable } from '../../../src/metering/ledger.ts';
import { type Bench, codeOf, createBench, openPermit, UNLIMITED } from './fixture.ts';
import { STORES } from './store.ts';

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(() => bench.close());

  const away = () => bench.store.away();
  const back = () => bench.store.back();

  it('waits for another holder of the lock without blocking the process', async () => {
    const meter = bench.meter(bench.ledger());
    await (await openPermit(meter)).release();
    const unlock = await bench.store.lock('acme');
    let answered = false;
    const opening = meter.open('acme', UNLIMITED, 'r1', 'p').finally(() => {
      answered = true;
    });
    for (let ticks = 0; ticks < 20; ticks += 1) await tick();
    expect(answered).toBe(false);
    await unlock();
    expect(codeOf(await opening)).toBe('permit');
  });

  it('gives up on a lock that is not let go, and answers again when it is', async () => {
    const meter = bench.meter(bench.ledger({ lockWaitMs: 100 }));
    await (await openPermit(meter)).release();
    const unlock = await bench.store.lock('acme');
    const answers = await Promise.all(
      ['r1', 'r2', 'r3'].map((runId) => meter.open('acme', UNLIMITED, runId, 'p')),
    );
    expect(answers.map(codeOf)).toEqual(Array(3).fill('ledger_unavailable'));
    // The lock is on the whole of a file, and on one tenant's row of a database.
    expect(await meter.ready()).toMatchObject({ ok: kind === 'postgres' });
    await unlock();
    expect(await meter.ready()).toMatchObject({ ok: true });
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0 });
  });

  it('starts nothing while *started* cannot be written', async () => {
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter);
    await away();
    expect(await permit.started('c0de')).toBe(false);
    await back();
    expect(await permit.started('c0de')).toBe(false);
    await permit.release();
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
  });

  it('keeps what a run owes while the ledger is away, and writes it by itself when it is back', async () => {
    const waiting: number[] = [];
    const ledger = bench.ledger();
    const meter = bench.meter(ledger, undefined, { kept: (count) => waiting.push(count) });
    const [one, two] = [await openPermit(meter), await openPermit(meter)];
    await one.started('c0de');
    await away();
    expect(await one.settle(1_000_000_001n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 2 });
    await one.amend('result_type_mismatch');
    await two.release();
    expect(waiting).toEqual([1, 2, 3]);
    expect(codeOf(await meter.open('acme', UNLIMITED, 'r9', 'p'))).toBe('ledger_unavailable');
    await back();
    await expect
      .poll(() => ledger.usage('acme', null, new Date()), { timeout: 20_000 })
      .toMatchObject({
        computeRuns: 1,
        computeSeconds: 2,
        openPermits: 0,
        outcomes: { result_type_mismatch: 1 },
      });
    expect(await ledger.verify()).toEqual([]);
  });

  it('answers a repeated settle as the first, also while the ledger is away', async () => {
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await away();
    expect(await permit.settle(3_000_000_000n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 3 });
    expect(await permit.settle(9_000_000_000n, 'timeout')).toEqual({ computeRuns: 1, computeSeconds: 3 });
    await back();
  });

  it('starts nothing on a permit that was given back while the ledger was away', async () => {
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter);
    await away();
    await permit.release();
    await back();
    expect(await permit.started('c0de')).toBe(false);
    await meter.ready();
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
  });

  it('makes a last try at what runs owe when it is closed', async () => {
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await away();
    await permit.settle(3_000_000_000n, 'succeeded');
    await back();
    await meter.close();
    const next = bench.meter(bench.ledger());
    await next.recover();
    expect(await next.usage('acme')).toMatchObject({ computeSeconds: 3, outcomes: { succeeded: 1 } });
  });

  it('judges no quota before what earlier runs owe is written', async () => {
    const quotas = { computeRuns: null, computeSeconds: 5 };
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter, quotas);
    await permit.started('c0de');
    await away();
    await permit.settle(5_000_000_000n, 'succeeded');
    await back();
    expect(codeOf(await meter.open('acme', quotas, 'next', 'p'))).toBe('quota_exceeded');
  });

  /** A ledger whose answer to one operation is lost once, after it was written. */
  function losing(ledger: Ledger, op: 'open' | 'started'): Ledger {
    let lost = false;
    const lose = async <T>(answer: Promise<T>): Promise<T> => {
      const value = await answer;
      if (lost) return value;
      lost = true;
      throw new LedgerUnavailable('the answer was lost', { mayHaveWritten: true });
    };
    return {
      ...ledger,
      open: (...args) => (op === 'open' ? lose(ledger.open(...args)) : ledger.open(...args)),
      started: (...args) => (op === 'started' ? lose(ledger.started(...args)) : ledger.started(...args)),
    };
  }

  it('tells a write that may stand from one that never reached the store', async () => {
    const ledger = bench.ledger();
    const permit = await openPermit(bench.meter(ledger));
    const charge = { finishedAt: new Date(), wallNs: 1n, seconds: 1, outcome: 'succeeded' } as const;
    await away();
    // The first finds its connection broken and cannot know; the second gets none.
    await expect(ledger.settle(permit.runId, charge)).rejects.toThrow(LedgerUnavailable);
    await expect(ledger.settle(permit.runId, charge)).rejects.toMatchObject({ mayHaveWritten: false });
    await back();
    await bench.store.sql('alter table monthly_outcomes rename to monthly_outcomes_away');
    await expect(ledger.settle(permit.runId, charge)).rejects.toMatchObject({ mayHaveWritten: true });
    await bench.store.sql('alter table monthly_outcomes_away rename to monthly_outcomes');
    // All of a transaction or nothing: the run was not charged by half.
    expect(await ledger.usage('acme', null, new Date())).toMatchObject({ computeRuns: 0, openPermits: 1 });
    expect(await ledger.settle(permit.runId, charge)).toMatchObject({ seconds: 1 });
  });

  it('leaves no open permit behind when it cannot tell whether one was written', async () => {
    const quotas = { computeRuns: 1, computeSeconds: null };
    const meter = bench.meter(losing(bench.ledger(), 'open'));
    expect(codeOf(await meter.open('acme', quotas, 'r1', 'p'))).toBe('ledger_unavailable');
    expect(codeOf(await meter.open('acme', quotas, 'r2', 'p'))).toBe('permit');
  });

  it('gives a run back that was not sent because the answer to *started* was lost', async () => {
    const meter = bench.meter(losing(bench.ledger(), 'started'));
    const permit = await openPermit(meter);
    expect(await permit.started('c0de')).toBe(false);
    await permit.release();
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
  });

  it('answers a closed meter with ledger_unavailable', async () => {
    const meter = bench.meter(bench.ledger());
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await meter.close();
    expect(codeOf(await meter.open('acme', UNLIMITED, 'late', 'p'))).toBe('ledger_unavailable');
    expect(await permit.settle(1n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 1 });
    const next = bench.meter(bench.ledger());
    await next.recover();
    expect(await next.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: 0 });
  });

  it('is refused at once, not after a wait, while the store is away, and comes back by itself', async () => {
    const meter = bench.meter(bench.ledger({ reconnectMs: 200 }));
    await meter.recover();
    await away();
    expect(await meter.ready()).toMatchObject({ ok: false });
    expect(codeOf(await meter.open('acme', UNLIMITED, 'r1', 'p'))).toBe('ledger_unavailable');
    await back();
    await expect.poll(() => meter.ready(), { timeout: 20_000 }).toMatchObject({ ok: true });
    expect(codeOf(await meter.open('acme', UNLIMITED, 'r2', 'p'))).toBe('permit');
  });
});

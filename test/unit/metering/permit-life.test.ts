import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../src/metering/ledger.ts';
import type { Meter } from '../../../src/metering/permit.ts';
import { type Bench, codeOf, createBench, fakeClock, openPermit, UNLIMITED } from './fixture.ts';
import { STORES } from './store.ts';

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  let ledger: Ledger;
  let meter: Meter;

  beforeEach(async () => {
    bench = await createBench(kind);
    ledger = bench.ledger();
    meter = bench.meter(ledger, fakeClock('2026-11-05T12:00:00Z'));
  });
  afterEach(async () => {
    expect(await ledger.verify()).toEqual([]);
    await bench.close();
  });

  async function journal(runId: string): Promise<Record<string, unknown>> {
    return (await bench.store.sql('select * from journal where id = ?', [runId]))[0] ?? {};
  }

  it('counts a permit as open until it is settled', async () => {
    const permit = await openPermit(meter);
    expect(permit).toMatchObject({ tenant: 'acme', month: '2026-11' });
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1, computeRuns: 0 });
    expect(await permit.started('c0de')).toBe(true);
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1, computeRuns: 0 });
    expect(await permit.settle(1_000_001_000n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 2 });
    expect(await meter.usage('acme')).toEqual({
      tenant: 'acme',
      month: '2026-11',
      computeRuns: 1,
      computeSeconds: 2,
      openPermits: 0,
      outcomes: { succeeded: 1 },
    });
  });

  it('tells with a settled run what its month came to, as the ledger has it', async () => {
    const earlier = await openPermit(meter);
    await earlier.settle(1n, 'succeeded');
    await (await openPermit(meter, UNLIMITED, 'globex')).settle(1n, 'succeeded');
    const permit = await openPermit(meter);
    expect(permit.used).toBeNull();
    await permit.settle(2_000_000_000n, 'succeeded');
    expect(permit.used).toEqual({ computeRuns: 2, computeSeconds: 3 });
    expect(await meter.usage('acme')).toMatchObject(permit.used ?? {});
    const released = await openPermit(meter);
    await released.release();
    expect(released.used).toBeNull();
  });

  it('has *started* in the file when started() answers', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    expect(await journal(permit.runId)).toMatchObject({
      state: 'started',
      code_sha256: 'c0de',
      finished_at: null,
    });
  });

  it('writes a journal row with times, wall time and digests', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await permit.settle(1_234_567n, 'timeout');
    const at = Date.parse('2026-11-05T12:00:00Z');
    expect(await journal(permit.runId)).toMatchObject({
      id: permit.runId,
      tenant: 'acme',
      month: '2026-11',
      opened_at: at,
      started_at: at,
      finished_at: at,
      state: 'settled',
      wall_ns: 1_234_567,
      seconds: 1,
      outcome: 'timeout',
      pack_digest: 'sha256:pack',
      code_sha256: 'c0de',
    });
  });

  it('charges a run once, however often it is settled', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    const first = await permit.settle(3_000_000_000n, 'succeeded');
    expect(await permit.settle(9_000_000_000n, 'timeout')).toEqual(first);
    const again = { finishedAt: new Date(), wallNs: 9_000_000_000n, seconds: 9, outcome: 'timeout' } as const;
    expect(await ledger.settle(permit.runId, again)).toEqual({ seconds: 3, used: null });
    expect(await meter.usage('acme')).toMatchObject({
      computeRuns: 1,
      computeSeconds: 3,
      outcomes: { succeeded: 1 },
    });
  });

  it('charges a run that is settled twice at the same time once', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await Promise.all([permit.settle(1n, 'succeeded'), permit.settle(1n, 'succeeded')]);
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, outcomes: { succeeded: 1 } });
  });

  it('replaces the outcome by amend and charges nothing', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await permit.settle(2_500_000_000n, 'succeeded');
    await permit.amend('result_type_mismatch');
    await permit.amend('result_type_mismatch');
    expect(await meter.usage('acme')).toMatchObject({
      computeRuns: 1,
      computeSeconds: 3,
      outcomes: { result_type_mismatch: 1 },
    });
    expect((await journal(permit.runId)).outcome).toBe('result_type_mismatch');
  });

  it('amends nothing that is not settled', async () => {
    const permit = await openPermit(meter);
    await permit.amend('exception');
    await ledger.amend(permit.runId, 'exception');
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1, outcomes: {} });
  });

  it('gives a permit back uncounted, and nothing can be started on it then', async () => {
    const permit = await openPermit(meter);
    await permit.release();
    expect(await permit.started('c0de')).toBe(false);
    expect(await ledger.started(permit.runId, 'c0de', new Date())).toBe(false);
    expect(await permit.settle(1n, 'succeeded')).toEqual({ computeRuns: 0, computeSeconds: 0 });
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0, outcomes: {} });
  });

  it('does not give back a started or a settled run', async () => {
    const permit = await openPermit(meter);
    await permit.started('c0de');
    await permit.release();
    await ledger.release(permit.runId, new Date(), false);
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1 });
    await permit.settle(1n, 'succeeded');
    await permit.release();
    await ledger.release(permit.runId, new Date(), true);
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 1 });
  });

  it('gives nothing back while started() is being written', async () => {
    const permit = await openPermit(meter);
    const [started] = await Promise.all([permit.started('c0de'), permit.release()]);
    expect(started).toBe(true);
    expect((await journal(permit.runId)).state).toBe('started');
  });

  it('charges a run in full that crosses its cap, and refuses the next', async () => {
    const quotas = { computeRuns: null, computeSeconds: 5 };
    const permit = await openPermit(meter, quotas);
    await permit.started('c0de');
    await permit.settle(9_100_000_000n, 'timeout');
    const refused = await meter.open('acme', quotas, 'next', 'sha256:pack');
    expect(refused).toMatchObject({
      kind: 'problem',
      code: 'quota_exceeded',
      extra: { meter: 'compute_seconds', used: 10, limit: 5, resets_at: '2026-12-01T00:00:00Z' },
    });
    expect(await meter.check('acme', quotas)).toMatchObject({ code: 'quota_exceeded' });
  });

  it('answers check without opening anything', async () => {
    const quotas = { computeRuns: 1, computeSeconds: null };
    expect(await meter.check('acme', quotas)).toBeNull();
    expect(await meter.check('acme', quotas)).toBeNull();
    await openPermit(meter, quotas);
    expect(await meter.check('acme', quotas)).toMatchObject({ code: 'quota_reserved', retryAfterSeconds: 1 });
  });

  it('lets an open permit hold the last second as well as the last run', async () => {
    const quotas = { computeRuns: 100, computeSeconds: 1 };
    const permit = await openPermit(meter, quotas);
    expect(codeOf(await meter.open('acme', quotas, 'second', 'p'))).toBe('quota_reserved');
    await permit.release();
    expect(codeOf(await meter.open('acme', quotas, 'third', 'p'))).toBe('permit');
  });

  it('keeps tenants apart', async () => {
    const quotas = { computeRuns: 1, computeSeconds: null };
    await openPermit(meter, quotas, 'acme');
    const other = await openPermit(meter, quotas, 'globex');
    await other.started('c0de');
    await other.settle(1n, 'exception');
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 0, openPermits: 1, outcomes: {} });
    expect(await meter.usage('globex')).toMatchObject({ computeRuns: 1, openPermits: 0 });
  });

  it('treats a run id that was used as a fault, not as a second permit', async () => {
    const permit = await openPermit(meter);
    await expect(meter.open('acme', UNLIMITED, permit.runId, 'p')).rejects.toThrow(/unique/i);
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1 });
  });

  it.each(['2026-13', '2026-00', '2026-1', '26-01', '2026-11-01', "2026-11'--", '', ' 2026-11'])(
    'refuses %j as a month',
    async (month) => {
      expect(await meter.usage('acme', month)).toMatchObject({ kind: 'problem', code: 'invalid_request' });
    },
  );
});

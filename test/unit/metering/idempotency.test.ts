import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../src/metering/ledger.ts';
import type { IdempotencyClaim, Meter, Permit } from '../../../src/metering/permit.ts';
import { type Bench, codeOf, createBench, fakeClock, openPermit, UNLIMITED } from './fixture.ts';
import { STORES } from './store.ts';

const claim = (key: string): IdempotencyClaim => ({
  digest: createHash('sha256').update(key).digest('hex'),
  ttlMs: 600_000,
});

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  let ledger: Ledger;
  let meter: Meter;
  let runs = 0;
  const clock = fakeClock('2026-11-05T12:00:00Z');

  beforeEach(async () => {
    bench = await createBench(kind);
    clock.set('2026-11-05T12:00:00Z');
    ledger = bench.ledger();
    meter = bench.meter(ledger, clock);
  });
  afterEach(() => bench.close());

  function open(key: string | null, tenant = 'acme', quotas = UNLIMITED, by = meter) {
    runs += 1;
    return by.open(tenant, quotas, `keyed-${runs}`, 'p', key === null ? null : claim(key));
  }

  async function opened(key: string): Promise<Permit> {
    const permit = await open(key);
    if ('kind' in permit) throw new Error(permit.code);
    return permit;
  }

  it('tells a key whose run was counted, with its run and outcome, and opens nothing', async () => {
    const permit = await opened('k');
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    await permit.amend('result_type_mismatch');
    const again = await open('k');
    expect(again).toMatchObject({
      code: 'idempotency_answer_lost',
      extra: { run_id: permit.runId, outcome: 'result_type_mismatch' },
    });
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: 0 });
  });

  it('tells a key whose run is open or started', async () => {
    const permit = await opened('k');
    const inFlight = { code: 'idempotency_in_flight', retryAfterSeconds: 1, extra: { run_id: permit.runId } };
    expect(await open('k')).toMatchObject(inFlight);
    await permit.started('c0de');
    expect(await open('k')).toMatchObject(inFlight);
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 1 });
  });

  it('frees the key of a permit that was given back', async () => {
    await (await opened('k')).release();
    const second = await opened('k');
    await second.started('c0de');
    await second.settle(1n, 'succeeded');
    expect(await open('k')).toMatchObject({ extra: { run_id: second.runId } });
  });

  it('knows the key after a restart, and on another replica', async () => {
    const permit = await opened('k');
    await permit.started('c0de');
    await permit.settle(1n, 'exception');
    const other = bench.meter(bench.ledger(), clock);
    expect(codeOf(await open('k', 'acme', UNLIMITED, other))).toBe('idempotency_answer_lost');
    await meter.close();
    const restarted = bench.meter(bench.ledger(), clock);
    expect(codeOf(await open('k', 'acme', UNLIMITED, restarted))).toBe('idempotency_answer_lost');
  });

  it('forgets the key after its time, and not before', async () => {
    const permit = await opened('k');
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    clock.set('2026-11-05T12:09:59.999Z');
    expect(codeOf(await open('k'))).toBe('idempotency_answer_lost');
    clock.set('2026-11-05T12:10:00.000Z');
    expect(codeOf(await open('k'))).toBe('permit');
  });

  it('knows the key across the end of a month', async () => {
    clock.set('2026-11-30T23:59:59Z');
    const permit = await opened('k');
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    clock.set('2026-12-01T00:00:01Z');
    expect(codeOf(await open('k'))).toBe('idempotency_answer_lost');
  });

  it('keeps tenants, other keys and requests without a key apart', async () => {
    await opened('k');
    expect(codeOf(await open('k', 'globex'))).toBe('permit');
    expect(codeOf(await open('other'))).toBe('permit');
    expect(codeOf(await open(null))).toBe('permit');
    expect(codeOf(await open(null))).toBe('permit');
    await openPermit(meter);
  });

  it('tells a known key also when the quota is spent', async () => {
    const quotas = { computeRuns: 1, computeSeconds: null };
    const permit = await opened('k');
    await permit.started('c0de');
    await permit.settle(1n, 'succeeded');
    expect(codeOf(await open('k', 'acme', quotas))).toBe('idempotency_answer_lost');
    expect(codeOf(await open('new', 'acme', quotas))).toBe('quota_exceeded');
  });

  it('lets one of twenty simultaneous calls with one key pass, over two connections', async () => {
    const other = bench.meter(bench.ledger(), clock);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => open('k', 'acme', UNLIMITED, index % 2 === 0 ? meter : other)),
    );
    const codes = answers.map(codeOf);
    expect(codes.filter((code) => code === 'permit')).toHaveLength(1);
    expect(codes.filter((code) => code === 'idempotency_in_flight')).toHaveLength(19);
  });
});

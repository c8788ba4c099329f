import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../src/metering/ledger.ts';
import type { Meter } from '../../../src/metering/permit.ts';
import { exportUsage } from '../../../src/metering/usage-export.ts';
import { type Bench, createBench, fakeClock, openPermit, UNLIMITED } from './fixture.ts';
import { STORES } from './store.ts';

const texts: Record<string, string> = {};

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

  async function run(tenant: string, seconds: number, outcome: 'succeeded' | 'exception'): Promise<void> {
    const permit = await openPermit(meter, UNLIMITED, tenant);
    await permit.started('c0de');
    await permit.settle(BigInt(seconds) * 1_000_000_000n, outcome);
  }

  async function fill(): Promise<void> {
    await run('globex', 3, 'succeeded');
    await run('acme-2', 1, 'succeeded');
    await run('acme', 2, 'succeeded');
    await run('acme', 5, 'exception');
    await (await openPermit(meter, UNLIMITED, 'idle')).release();
  }

  const export_ = async (format: 'json' | 'csv') =>
    exportUsage(await ledger.month('2026-11', clock.now()), format);

  it('tells every tenant’s totals and outcomes, and marks a month that can still grow', async () => {
    await fill();
    expect(JSON.parse(await export_('json'))).toEqual({
      month: '2026-11',
      closed: false,
      tenants: [
        {
          tenant: 'acme',
          compute_runs: 2,
          compute_seconds: 7,
          open_permits: 0,
          outcomes: { exception: 1, succeeded: 1 },
        },
        {
          tenant: 'acme-2',
          compute_runs: 1,
          compute_seconds: 1,
          open_permits: 0,
          outcomes: { succeeded: 1 },
        },
        {
          tenant: 'globex',
          compute_runs: 1,
          compute_seconds: 3,
          open_permits: 0,
          outcomes: { succeeded: 1 },
        },
      ],
      ledger_digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
  });

  it('is the same to the byte for a closed month, before and after retention, from either store', async () => {
    await fill();
    clock.set('2026-12-02T00:00:00Z');
    const before = [await export_('json'), await export_('csv')].join('');
    expect(before).toContain('"closed": true');
    await run('acme', 9, 'succeeded');
    await ledger.prune(new Date('2026-12-01T00:00:00Z'));
    expect([await export_('json'), await export_('csv')].join('')).toBe(before);
    texts[kind] = before;
    for (const other of Object.values(texts)) expect(other).toBe(before);
  });

  it('does not close a month while a run of it is open', async () => {
    const permit = await openPermit(meter);
    clock.set('2026-12-02T00:00:00Z');
    expect(JSON.parse(await export_('json'))).toMatchObject({
      closed: false,
      tenants: [{ open_permits: 1 }],
    });
    await permit.release();
    expect(JSON.parse(await export_('json'))).toMatchObject({ closed: true, tenants: [] });
  });

  it('has a digest that any changed count changes', async () => {
    await fill();
    const { ledger_digest: before } = JSON.parse(await export_('json'));
    await run('acme', 1, 'succeeded');
    expect(JSON.parse(await export_('json')).ledger_digest).not.toBe(before);
  });

  it('writes a table with a line a tenant', async () => {
    await fill();
    const { ledger_digest: digest } = JSON.parse(await export_('json'));
    expect(await export_('csv')).toBe(
      `month,closed,tenant,compute_runs,compute_seconds,open_permits,outcomes,ledger_digest
2026-11,false,acme,2,7,0,exception:1 succeeded:1,${digest}
2026-11,false,acme-2,1,1,0,succeeded:1,${digest}
2026-11,false,globex,1,3,0,succeeded:1,${digest}
`,
    );
  });
});

import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Problem } from '../../../src/contract/problem.ts';
import type { Ledger } from '../../../src/metering/ledger.ts';
import { createMeter, type MeterEvents } from '../../../src/metering/meter.ts';
import type { Meter, Permit, Quotas } from '../../../src/metering/permit.ts';
import { createSqlLedger, type SqlLedgerOptions } from '../../../src/metering/sql-ledger.ts';
import { createStore, type StoreKind } from './store.ts';

export const UNLIMITED: Quotas = { computeRuns: null, computeSeconds: null };
export const WALL_LIMIT_MS = 10_000;

/** A clock whose wall time the test sets; durations are real. */
export function fakeClock(start: string): Clock & { set(at: string): void } {
  let now = new Date(start);
  return {
    now: () => now,
    monotonicNs: systemClock.monotonicNs,
    set: (at) => {
      now = new Date(at);
    },
  };
}

/** One test's store, and what a test opened on it. */
export async function createBench(kind: StoreKind = 'sqlite') {
  const store = await createStore(kind);
  const open: { close(): Promise<void> }[] = [];
  return {
    kind,
    store,
    ledger(options: Partial<SqlLedgerOptions> = {}): Ledger {
      const ledger = createSqlLedger({
        dialect: store.dialect(),
        clock: systemClock,
        reconnectMs: 0,
        ...options,
      });
      open.push(ledger);
      return ledger;
    },
    meter(ledger: Ledger, clock: Clock = systemClock, events: MeterEvents = {}, leaseMs = 30_000): Meter {
      const options = { ledger, clock, wallLimitMs: WALL_LIMIT_MS, instance: 'test', events, leaseMs };
      const meter = createMeter(options);
      open.push(meter);
      return meter;
    },
    async close() {
      for (const one of open) await one.close();
      await store.close();
    },
  };
}

export type Bench = Awaited<ReturnType<typeof createBench>>;

let runs = 0;
/** Opens a permit and throws where there is none. */
export async function openPermit(meter: Meter, quotas: Quotas = UNLIMITED, tenant = 'acme'): Promise<Permit> {
  runs += 1;
  const permit = await meter.open(tenant, quotas, `run-${runs}`, 'sha256:pack');
  if ('kind' in permit) throw new Error(`no permit: ${permit.code}`);
  return permit;
}

/** The code of a problem, or `permit`. */
export function codeOf(answer: Permit | Problem): string {
  return 'kind' in answer ? answer.code : 'permit';
}

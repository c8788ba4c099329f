import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Problem } from '../../../src/contract/problem.ts';
import type { Ledger } from '../../../src/metering/ledger.ts';
import { createMeter, type MeterEvents } from '../../../src/metering/meter.ts';
import type { Meter, Permit, Quotas } from '../../../src/metering/permit.ts';
import { createSqlLedger, type SqlLedgerOptions } from '../../../src/metering/sql-ledger.ts';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';

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

/** A folder for one test's ledgers, and what a test opened on it. */
export function createBench() {
  const folder = mkdtempSync(join(tmpdir(), 'metering-'));
  const path = join(folder, 'data', 'ledger.db');
  const open: { close(): Promise<void> }[] = [];
  return {
    folder,
    path,
    ledger(options: Partial<SqlLedgerOptions> & { path?: string } = {}): Ledger {
      const dialect = sqliteDialect({ path: options.path ?? path });
      const ledger = createSqlLedger({ dialect, clock: systemClock, reconnectMs: 0, ...options });
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Bench = ReturnType<typeof createBench>;

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

import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Ledger, LedgerUnavailable } from '../../../src/metering/ledger.ts';
import { type Bench, codeOf, createBench, openPermit, UNLIMITED } from './fixture.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.close());

const away = () => renameSync(bench.path, `${bench.path}.away`);
const back = () => renameSync(`${bench.path}.away`, bench.path);

it('refuses permits while the folder cannot be made, says so, and works when it can', async () => {
  const blocker = join(bench.folder, 'blocker');
  writeFileSync(blocker, '');
  const meter = bench.meter(bench.ledger({ path: join(blocker, 'ledger.db') }));
  await meter.recover();
  expect(await meter.ready()).toMatchObject({ ok: false });
  const refused = await meter.open('acme', UNLIMITED, 'r1', 'p');
  expect(refused).toMatchObject({ kind: 'problem', code: 'ledger_unavailable', retryAfterSeconds: 2 });
  expect(await meter.check('acme', UNLIMITED)).toMatchObject({ code: 'ledger_unavailable' });
  expect(await meter.usage('acme')).toMatchObject({ code: 'ledger_unavailable' });
  rmSync(blocker);
  expect(await meter.ready()).toMatchObject({ ok: true });
  expect(codeOf(await meter.open('acme', UNLIMITED, 'r1', 'p'))).toBe('permit');
});

it('refuses a file that is no ledger', async () => {
  writeFileSync(join(bench.folder, 'ledger.db'), 'this is not a database, and it is long enough to be read.');
  const meter = bench.meter(bench.ledger({ path: join(bench.folder, 'ledger.db') }));
  expect(await meter.ready()).toMatchObject({ ok: false });
});

it('does not open the store again and again while it fails', async () => {
  const blocker = join(bench.folder, 'blocker');
  writeFileSync(blocker, '');
  const ledger = bench.ledger({ path: join(blocker, 'ledger.db'), reconnectMs: 3_600_000 });
  await expect(ledger.usage('acme', '2026-11', new Date())).rejects.toThrow(LedgerUnavailable);
  rmSync(blocker);
  await expect(ledger.usage('acme', '2026-11', new Date())).rejects.toThrow(LedgerUnavailable);
});

it('does not make a new ledger where the file has gone, and goes on when it is back', async () => {
  const meter = bench.meter(bench.ledger());
  const quotas = { computeRuns: 1, computeSeconds: null };
  const permit = await openPermit(meter, quotas);
  await permit.started('c0de');
  await permit.settle(1n, 'succeeded');
  away();
  expect(await meter.ready()).toMatchObject({ ok: false });
  expect(codeOf(await meter.open('acme', quotas, 'r2', 'p'))).toBe('ledger_unavailable');
  back();
  expect(codeOf(await meter.open('acme', quotas, 'r3', 'p'))).toBe('quota_exceeded');
});

it('reads the file that was put in the place of the old one', async () => {
  const other = join(bench.folder, 'other.db');
  const restored = bench.meter(bench.ledger({ path: other }));
  const permit = await openPermit(restored);
  await permit.started('c0de');
  await permit.settle(1n, 'succeeded');
  await restored.close();
  const meter = bench.meter(bench.ledger());
  await (await openPermit(meter)).release();
  for (const suffix of ['-wal', '-shm']) rmSync(`${bench.path}${suffix}`, { force: true });
  copyFileSync(other, `${other}.copy`);
  renameSync(`${other}.copy`, bench.path);
  expect(await meter.ready()).toMatchObject({ ok: false });
  expect(await meter.ready()).toMatchObject({ ok: true });
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1 });
});

it('waits for another holder of the lock without blocking the process', async () => {
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  const holder = new Database(bench.path);
  holder.exec('begin immediate');
  let answered = false;
  const opening = meter.open('acme', UNLIMITED, 'r1', 'p').finally(() => {
    answered = true;
  });
  for (let ticks = 0; ticks < 20; ticks += 1) await tick();
  expect(answered).toBe(false);
  holder.exec('commit');
  expect(codeOf(await opening)).toBe('permit');
  holder.close();
});

it('gives up on a lock that is not let go, and answers again when it is', async () => {
  const meter = bench.meter(bench.ledger({ lockWaitMs: 100 }));
  await meter.recover();
  const holder = new Database(bench.path);
  holder.exec('begin immediate');
  const answers = await Promise.all(
    ['r1', 'r2', 'r3'].map((runId) => meter.open('acme', UNLIMITED, runId, 'p')),
  );
  expect(answers.map(codeOf)).toEqual(Array(3).fill('ledger_unavailable'));
  expect(await meter.ready()).toMatchObject({ ok: false });
  holder.exec('rollback');
  holder.close();
  expect(await meter.ready()).toMatchObject({ ok: true });
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 0 });
});

it('starts nothing while *started* cannot be written', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  away();
  expect(await permit.started('c0de')).toBe(false);
  back();
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
  away();
  expect(await one.settle(1_000_000_001n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 2 });
  await one.amend('result_type_mismatch');
  await two.release();
  expect(waiting).toEqual([1, 2, 3]);
  expect(codeOf(await meter.open('acme', UNLIMITED, 'r9', 'p'))).toBe('ledger_unavailable');
  back();
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
  away();
  expect(await permit.settle(3_000_000_000n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 3 });
  expect(await permit.settle(9_000_000_000n, 'timeout')).toEqual({ computeRuns: 1, computeSeconds: 3 });
  back();
});

it('starts nothing on a permit that was given back while the ledger was away', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  away();
  await permit.release();
  back();
  expect(await permit.started('c0de')).toBe(false);
  await meter.ready();
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 0 });
});

it('makes a last try at what runs owe when it is closed', async () => {
  const meter = bench.meter(bench.ledger());
  const permit = await openPermit(meter);
  await permit.started('c0de');
  away();
  await permit.settle(3_000_000_000n, 'succeeded');
  back();
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
  away();
  await permit.settle(5_000_000_000n, 'succeeded');
  back();
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
  away();
  await expect(ledger.settle(permit.runId, charge)).rejects.toMatchObject({ mayHaveWritten: false });
  back();
  const other = new Database(bench.path);
  other.exec('alter table monthly_outcomes rename to monthly_outcomes_away');
  await expect(ledger.settle(permit.runId, charge)).rejects.toMatchObject({ mayHaveWritten: true });
  other.exec('alter table monthly_outcomes_away rename to monthly_outcomes');
  other.close();
  // All of a transaction or nothing: the run was not charged by half.
  expect(await ledger.usage('acme', null, new Date())).toMatchObject({ computeRuns: 0, openPermits: 1 });
  expect(await ledger.settle(permit.runId, charge)).toBe(1);
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

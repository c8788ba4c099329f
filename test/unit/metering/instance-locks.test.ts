import { existsSync, readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Lease } from '../../../src/metering/ledger.ts';
import { type LedgerChild, startChild } from './child-process.ts';
import { type Bench, createBench, fakeClock, WALL_LIMIT_MS } from './fixture.ts';

let bench: Bench;
let marks: string;
const children: LedgerChild[] = [];
beforeEach(async () => {
  bench = await createBench('sqlite');
  marks = `${bench.store.url.replace('sqlite:', '')}.instances`;
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await bench.close();
});

async function child(): Promise<LedgerChild> {
  const started = await startChild(bench.store.url, 'child');
  children.push(started);
  return started;
}

it('recovers a killed process at once, without waiting for its lease', async () => {
  const dead = await child();
  await dead.ask({ op: 'open' });
  await dead.ask({ op: 'start' });
  await dead.kill();
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: 0 });
});

it('does not touch the runs of a process that lives, until it is killed', async () => {
  const alive = await child();
  await alive.ask({ op: 'open', count: 3 });
  await alive.ask({ op: 'start' });
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 3, computeRuns: 0 });
  await alive.kill();
  await meter.recover();
  expect(await meter.usage('acme')).toMatchObject({ openPermits: 0, computeRuns: 3 });
});

it('takes a stopped process for alive, however long it is stopped and whatever the clock says', async () => {
  const stopped = await child();
  await stopped.ask({ op: 'open' });
  stopped.process.kill('SIGSTOP');
  const meter = bench.meter(bench.ledger(), fakeClock('2036-01-01T00:00:00Z'));
  await meter.recover();
  const month = systemClock.now().toISOString().slice(0, 7);
  expect(await meter.usage('acme', month)).toMatchObject({ openPermits: 1 });
  stopped.process.kill('SIGCONT');
  expect(await stopped.ask({ op: 'start' })).toEqual([true]);
});

it('leaves no lease and no lock behind when it is closed', async () => {
  const meter = bench.meter(bench.ledger());
  await meter.recover();
  expect(readdirSync(marks)).toHaveLength(1);
  await meter.close();
  expect(readdirSync(marks)).toHaveLength(0);
});

const LEASE: Lease = { instance: 'same', now: new Date(0), expiresAt: new Date(30_000) };

it('refuses a second process under one instance name', async () => {
  const one = bench.ledger();
  const two = bench.ledger();
  await one.recover(LEASE, WALL_LIMIT_MS);
  await expect(two.recover(LEASE, WALL_LIMIT_MS)).rejects.toThrow('instance name');
  await one.leave('same');
  await two.recover(LEASE, WALL_LIMIT_MS);
  expect(existsSync(marks)).toBe(true);
});

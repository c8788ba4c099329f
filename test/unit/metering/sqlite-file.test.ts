import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LedgerUnavailable } from '../../../src/metering/ledger.ts';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';
import { type Bench, codeOf, createBench, openPermit, UNLIMITED } from './fixture.ts';

let bench: Bench;
let folder: string;
beforeEach(async () => {
  bench = await createBench('sqlite');
  folder = mkdtempSync(join(tmpdir(), 'metering-file-'));
});
afterEach(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (path: string) => ({ dialect: sqliteDialect({ path }) });

it('refuses permits while the folder cannot be made, says so, and works when it can', async () => {
  const blocker = join(folder, 'blocker');
  writeFileSync(blocker, '');
  const meter = bench.meter(bench.ledger(at(join(blocker, 'ledger.db'))));
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
  writeFileSync(join(folder, 'ledger.db'), 'this is not a database, and it is long enough to be read.');
  const meter = bench.meter(bench.ledger(at(join(folder, 'ledger.db'))));
  expect(await meter.ready()).toMatchObject({ ok: false });
});

it('does not open the store again and again while it fails', async () => {
  const blocker = join(folder, 'blocker');
  writeFileSync(blocker, '');
  const ledger = bench.ledger({ ...at(join(blocker, 'ledger.db')), reconnectMs: 3_600_000 });
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
  await bench.store.away();
  expect(await meter.ready()).toMatchObject({ ok: false });
  expect(codeOf(await meter.open('acme', quotas, 'r2', 'p'))).toBe('ledger_unavailable');
  await bench.store.back();
  expect(codeOf(await meter.open('acme', quotas, 'r3', 'p'))).toBe('quota_exceeded');
});

it('reads the file that was put in the place of the old one', async () => {
  const other = join(folder, 'other.db');
  const restored = bench.meter(bench.ledger(at(other)));
  const permit = await openPermit(restored);
  await permit.started('c0de');
  await permit.settle(1n, 'succeeded');
  await restored.close();
  const meter = bench.meter(bench.ledger());
  await (await openPermit(meter)).release();
  const path = bench.store.url.replace('sqlite:', '');
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  copyFileSync(other, `${other}.copy`);
  renameSync(`${other}.copy`, path);
  expect(await meter.ready()).toMatchObject({ ok: false });
  expect(await meter.ready()).toMatchObject({ ok: true });
  expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1 });
});

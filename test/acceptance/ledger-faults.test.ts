import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ownContainers, ownMemoryMb, removeContainers } from '../fakes/own-containers.ts';
import { startPostgres } from '../fakes/postgres.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

/** Real file systems that are full or read-only need mount, and mount needs root. */
const isRoot = process.getuid?.() === 0;

const memoryMb = ownMemoryMb();
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

// One service here is killed; its successors would remove its container when that expires.
afterAll(() => removeContainers(ownContainers(memoryMb)));

async function start(ledgerUrl: string, answer?: () => string | Promise<string>): Promise<BuiltService> {
  const service = await startBuiltService({
    env: { LEDGER_URL: ledgerUrl, SANDBOX_POOL_SIZE: '1', SANDBOX_MEMORY_MB: String(memoryMb) },
    ...(answer === undefined ? {} : { answer }),
  });
  cleanUps.push(() => service.stop());
  return service;
}

function disk(options: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  cleanUps.push(() => {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

const step = (service: BuiltService) =>
  service.post('/v1/compute', { step: 'x', sources: [{ name: 'x', result: 1 }] });

/** Not ready by name, and a step refused before its model is asked. */
async function refuses(service: BuiltService): Promise<void> {
  await expect
    .poll(async () => (await service.get('/readyz')).json.failing, { timeout: 30_000 })
    .toEqual(['ledger']);
  const asked = service.model.requests.length;
  const { status, json } = await step(service);
  expect(status).toBe(503);
  expect(json).toMatchObject({ code: 'ledger_unavailable', retryable: true });
  expect(service.model.requests).toHaveLength(asked);
}

/** Ready without a restart, and a step is taken. */
async function works(service: BuiltService): Promise<void> {
  await service.ready();
  const { status, json } = await step(service);
  expect(status).toBe(200);
  expect(json).toMatchObject({ state: 'succeeded', metered: { compute_runs: 1 } });
}

describe.skipIf(!isRoot)('a ledger on a disk that', () => {
  it('is full: no step is taken until there is room, and what ran meanwhile is counted', async () => {
    const folder = disk('size=1m');
    const filler = join(folder, 'filler');
    const service = await start(
      `sqlite:${join(folder, 'ledger.db')}`,
      () => 'def compute(data):\n    return 1\n',
    );
    await works(service);
    expect(() => writeFileSync(filler, Buffer.alloc(2_000_000))).toThrow('ENOSPC');
    // The ledger has some room in blocks that it owns; when it is used up, everything is refused.
    await expect
      .poll(async () => (await service.get('/readyz')).json.failing, { timeout: 60_000, interval: 5 })
      .toEqual(['ledger']);
    await refuses(service);
    rmSync(filler);
    await works(service);
    expect((await service.get('/v1/usage')).json).toMatchObject({
      compute_runs: { used: 2 },
      open_permits: 0,
    });
  });

  it('is read-only: no step is taken until it can be written', async () => {
    const folder = disk('size=8m');
    const service = await start(`sqlite:${join(folder, 'ledger.db')}`);
    await works(service);
    await service.stop();
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    const again = await start(`sqlite:${join(folder, 'ledger.db')}`);
    await refuses(again);
    execFileSync('mount', ['-o', 'remount,rw', folder]);
    await works(again);
    expect((await again.get('/v1/usage')).json.compute_runs.used).toBe(2);
  });
});

/** Waits until *started* of the only run has been written. */
function runStarted(service: BuiltService): Promise<void> {
  const count = async () =>
    (await service.metrics()).match(/^compute_step_ledger_seconds_count\{op="started"\} (\d+)/m)?.[1];
  return expect.poll(count, { timeout: 30_000, interval: 20 }).toBe('1');
}

describe('a ledger on a PostgreSQL server', () => {
  it('that is lost: nothing is asked until it is back, and a run in flight is counted then', async () => {
    const server = await startPostgres();
    cleanUps.push(() => server.remove());
    const slow = 'def compute(data):\n    n = 0\n    while n < 60_000_000:\n        n += 1\n    return 1\n';
    const service = await start(server.url(), () => slow);
    await service.ready();
    const inFlight = step(service);
    await runStarted(service);
    await server.crash();
    const { status, json } = await inFlight;
    expect(status).toBe(200);
    expect(json).toMatchObject({ metered: { compute_runs: 1 }, quota: null });
    await refuses(service);

    await server.start();
    await service.ready();
    expect((await service.get('/v1/usage')).json).toMatchObject({
      compute_runs: { used: 1 },
      open_permits: 0,
      outcomes: { [json.state === 'succeeded' ? 'succeeded' : json.failure.code]: 1 },
    });
    await service.stop();
    // No lease is left: the next start waits for nobody.
    const next = await start(server.url());
    await works(next);
    expect((await next.get('/v1/usage')).json).toMatchObject({ compute_runs: { used: 2 }, open_permits: 0 });
  });

  it('that is lost for good while a run is in flight: the next start counts it', async () => {
    const server = await startPostgres();
    cleanUps.push(() => server.remove());
    const service = await start(server.url(), () => 'def compute(data):\n    while True:\n        pass\n');
    await service.ready();
    const inFlight = step(service).catch(() => null);
    await runStarted(service);
    await server.crash();
    service.service.process.kill('SIGKILL');
    await inFlight;
    await server.start();
    // A database server tells a dead process by its lease alone; this is what 30 seconds do to it.
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    await client.query('update instances set expires_at = 0');
    await client.end();
    const next = await start(server.url());
    await next.ready();
    expect((await next.get('/v1/usage')).json).toMatchObject({
      compute_runs: { used: 1 },
      open_permits: 0,
      outcomes: { sandbox_lost: 1 },
    });
  });
});

describe('a ledger that cannot be opened', () => {
  it('is named by readiness, and taken when it can', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-path-'));
    cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
    // A folder in the place of the file: modes would not stop root.
    mkdirSync(join(folder, 'ledger.db'));
    const service = await start(`sqlite:${join(folder, 'ledger.db')}`);
    await refuses(service);
    rmSync(join(folder, 'ledger.db'), { recursive: true });
    await works(service);
  });
});

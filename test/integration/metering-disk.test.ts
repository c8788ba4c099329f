import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sqliteDialect } from '../../src/metering/sqlite-dialect.ts';
import { type LedgerChild, startChild } from '../unit/metering/child-process.ts';
import { codeOf, createBench, openPermit, UNLIMITED } from '../unit/metering/fixture.ts';

/** Real file systems that are full or read-only need mount, and mount needs root. */
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

let disk: string;
let bench: Awaited<ReturnType<typeof createBench>>;
let mounted = false;

function mount(options: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk]);
  mounted = true;
}

beforeEach(async () => {
  disk = mkdtempSync(join(tmpdir(), 'metering-disk-'));
  bench = await createBench('sqlite');
});
afterEach(async () => {
  await bench.close();
  // Lazily: the ledger's descriptors may be open until they are collected.
  if (mounted) execFileSync('umount', ['-l', disk]);
  mounted = false;
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!isRoot)('a ledger on a disk that', () => {
  it('is full refuses permits, keeps what runs owe, and takes both when there is room again', async () => {
    mount('size=1m');
    const ledger = bench.ledger({ dialect: sqliteDialect({ path: join(disk, 'ledger.db') }) });
    const meter = bench.meter(ledger);
    const running = await openPermit(meter);
    await running.started('c0de');
    const filler = join(disk, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(2_000_000))).toThrow('ENOSPC');
    // The log has some room in blocks it owns: the disk is full for the ledger when that is used up.
    let opened = 0;
    let code = 'permit';
    while (code === 'permit' && opened < 5000) {
      opened += 1;
      code = codeOf(await meter.open('acme', UNLIMITED, `fill-${opened}`, 'p'));
    }
    expect(code).toBe('ledger_unavailable');
    expect(await meter.ready()).toEqual({ ok: false, detail: expect.stringContaining('disk is full') });
    expect(await running.settle(1n, 'succeeded')).toEqual({ computeRuns: 1, computeSeconds: 1 });
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 0 });
    rmSync(filler);
    expect(await meter.ready()).toMatchObject({ ok: true });
    expect(await meter.usage('acme')).toMatchObject({ computeRuns: 1, openPermits: opened - 1 });
    expect(await ledger.verify()).toEqual([]);
  });

  it('is read-only is not ready, and is when it can be written', async () => {
    mount('ro');
    const meter = bench.meter(
      bench.ledger({ dialect: sqliteDialect({ path: join(disk, 'data', 'ledger.db') }) }),
    );
    await meter.recover();
    expect(await meter.ready()).toMatchObject({ ok: false });
    expect(codeOf(await meter.open('acme', UNLIMITED, 'r1', 'p'))).toBe('ledger_unavailable');
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    expect(await meter.ready()).toMatchObject({ ok: true });
    expect(codeOf(await meter.open('acme', UNLIMITED, 'r1', 'p'))).toBe('permit');
  });
});

describe.skipIf(!isRoot)('a ledger file that the service may not write', () => {
  let child: LedgerChild | null = null;
  afterEach(() => child?.kill());

  it('is not ready, and is when it may', async () => {
    const folder = join(disk, 'data');
    const path = join(folder, 'ledger.db');
    const first = bench.ledger({ dialect: sqliteDialect({ path }) });
    await first.verify();
    await first.close();
    chmodSync(disk, 0o755);
    chmodSync(path, 0o444);
    mkdirSync(`${path}.instances`, { recursive: true });
    chownSync(folder, NOBODY, NOBODY);
    chownSync(`${path}.instances`, NOBODY, NOBODY);
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    child = await startChild(`sqlite:${path}`, 'child', { uid: NOBODY, gid: NOBODY });
    expect(await child.ask({ op: 'ready' })).toMatchObject({ ok: false });
    expect(await child.ask({ op: 'open' })).toEqual(['ledger_unavailable']);
    chownSync(path, NOBODY, NOBODY);
    chmodSync(path, 0o644);
    expect(await child.ask({ op: 'ready' })).toEqual({ ok: true, detail: expect.any(String) });
    expect(await child.ask({ op: 'open' })).toEqual(['permit']);
  });
});

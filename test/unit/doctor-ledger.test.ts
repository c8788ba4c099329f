import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Config } from '../../src/config.ts';
import { ledgerFindings } from '../../src/doctor-ledger.ts';
import { openLedger } from '../../src/metering/open-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'compute-step-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (moment: string) => ({ ...systemClock, now: () => new Date(moment) });
const look = (path: string, clock = systemClock) =>
  ledgerFindings({ LEDGER_URL: `sqlite:${path}` } as Config, clock, (location) =>
    openLedger(location, { clock }),
  );

async function counted(path: string, month: string): Promise<void> {
  const clock = at(`${month}-15T12:00:00Z`);
  const ledger = openLedger({ kind: 'sqlite', path }, { clock });
  const entry = { runId: 'run', tenant: 'acme', packDigest: 'sha256:x', instance: 'serve' };
  await ledger.open(entry, { computeRuns: null, computeSeconds: null }, clock.now());
  await ledger.close();
}

describe('the ledger and the clock', () => {
  test('are fine on a sound ledger', async () => {
    const path = join(folder, 'sound.db');
    await counted(path, '2026-11');
    expect(await look(path, at('2026-11-20T00:00:00Z'))).toMatchObject([
      { check: 'ledger', ok: true },
      { check: 'clock', ok: true, detail: 'month 2026-11, UTC' },
    ]);
  });

  test('show a clock that was set back behind the ledger, or was never set', async () => {
    const path = join(folder, 'ahead.db');
    await counted(path, '2026-11');
    expect(await look(path, at('2026-10-31T23:59:59Z'))).toMatchObject([
      { ok: true },
      { check: 'clock', ok: false },
    ]);
    expect(await look(join(folder, 'none.db'), at('1970-01-01T00:00:10Z'))).toMatchObject([
      { ok: true },
      { check: 'clock', ok: false },
    ]);
  });

  test('are fine where there is no ledger yet, and none is made', async () => {
    const path = join(folder, 'later', 'ledger.db');
    for (const _ of [1, 2]) {
      expect(await look(path)).toMatchObject([
        { ok: true, detail: expect.stringContaining('not there yet') },
        { ok: true },
      ]);
    }
  });

  test('name a place where no ledger can be made, and a file that is none', async () => {
    const path = join(folder, 'text.db');
    writeFileSync(path, 'not a database, whatever its name says\n'.repeat(100));
    expect(await look(path)).toMatchObject([{ check: 'ledger', ok: false }, { check: 'clock' }]);
    const below = join(path, 'ledger.db');
    expect(await look(below)).toMatchObject([
      { check: 'ledger', ok: false },
      { check: 'clock', ok: true },
    ]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, loadLedgerUrl, settingsTable } from '../../../src/config.ts';
import { parseLedgerUrl } from '../../../src/metering/ledger-url.ts';

describe('parseLedgerUrl', () => {
  it.each([
    ['sqlite:./data/ledger.db', './data/ledger.db'],
    ['sqlite:/var/lib/ledger.db', '/var/lib/ledger.db'],
    ['sqlite:///var/lib/ledger.db', '/var/lib/ledger.db'],
    ['sqlite:ledger.db', 'ledger.db'],
  ])('%s is the file %s', (url, path) => {
    expect(parseLedgerUrl(url)).toEqual({ kind: 'sqlite', path });
  });

  it.each([
    'postgres://ledger:s3cret@db.internal:5432/ledger',
    'postgresql://ledger@db/ledger?sslmode=verify-full',
    'postgres://[::1]:5432/ledger',
    'postgres://ledger@/ledger?host=/run/postgresql',
    'postgres://ledger:p%40ss%2Fword@db/ledger',
  ])('%s is a database', (url) => {
    expect(parseLedgerUrl(url)).toEqual({ kind: 'postgres', url });
  });

  it.each([
    '',
    'ledger.db',
    'sqlite:',
    'sqlite::memory:',
    'mysql://x',
    'SQLITE:x',
    'postgres:',
    'postgres://',
    'postgres://ledger:s3cret@db',
    'postgres://ledger:s3cret@db/',
    'postgres://ledger:s3cret@db?x=/y',
    'postgres://ledger:s3cret/with#marks@db:port/ledger',
  ])('%j is refused, and nothing of it is said', (url) => {
    const location = parseLedgerUrl(url);
    expect(location.kind).toBe('invalid');
    expect(JSON.stringify(location)).not.toContain('s3cret');
  });
});

describe('the setting LEDGER_URL', () => {
  it('is never part of a fault, nor of the table of settings', () => {
    const config = loadConfig({ LEDGER_URL: 'postgres://ledger:s3cret@db', TENANTS_FILE: 'x' });
    expect(config).toMatchObject({ kind: 'faults', faults: [expect.stringMatching(/^LEDGER_URL must /)] });
    expect(JSON.stringify(config)).not.toContain('s3cret');
    expect(settingsTable()).toContain('LEDGER_URL_FILE');
  });

  it('can be given as a file, by itself too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-url-'));
    const file = join(folder, 'url');
    writeFileSync(file, 'postgres://ledger:s3cret@db/ledger\n');
    expect(loadConfig({ LEDGER_URL_FILE: file, TENANTS_FILE: 'x' })).toMatchObject({
      LEDGER_URL: 'postgres://ledger:s3cret@db/ledger',
    });
    expect(loadLedgerUrl({ LEDGER_URL_FILE: file })).toBe('postgres://ledger:s3cret@db/ledger');
    expect(loadLedgerUrl({ LEDGER_URL_FILE: file, LEDGER_URL: 'sqlite:x' })).toMatchObject({
      kind: 'faults',
    });
    expect(loadLedgerUrl({})).toBe('sqlite:./data/ledger.db');
    rmSync(folder, { recursive: true });
  });
});

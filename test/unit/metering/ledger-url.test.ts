import { expect, it } from 'vitest';
import { parseLedgerUrl } from '../../../src/metering/ledger-url.ts';

it.each([
  ['sqlite:./data/ledger.db', './data/ledger.db'],
  ['sqlite:/var/lib/ledger.db', '/var/lib/ledger.db'],
  ['sqlite:///var/lib/ledger.db', '/var/lib/ledger.db'],
  ['sqlite:ledger.db', 'ledger.db'],
])('%s is the file %s', (url, path) => {
  expect(parseLedgerUrl(url)).toEqual({ kind: 'sqlite', path });
});

it.each(['', 'ledger.db', 'sqlite:', 'sqlite::memory:', 'mysql://x', 'SQLITE:x'])('%j is refused', (url) => {
  expect(parseLedgerUrl(url).kind).toBe('invalid');
});

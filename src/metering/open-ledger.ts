import type { Ledger } from './ledger.ts';
import type { LedgerLocation } from './ledger-url.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { createSqlLedger, type SqlLedgerOptions } from './sql-ledger.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** The ledger at a location, in the dialect of its kind. Nothing is connected before the first operation. */
export function openLedger(
  location: Exclude<LedgerLocation, { kind: 'invalid' }>,
  options: Omit<SqlLedgerOptions, 'dialect'>,
): Ledger {
  const dialect =
    location.kind === 'sqlite'
      ? sqliteDialect({ path: location.path })
      : postgresDialect({ url: location.url });
  return createSqlLedger({ dialect, ...options });
}

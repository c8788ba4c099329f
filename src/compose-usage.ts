import { existsSync } from 'node:fs';
import { systemClock } from './clock.ts';
import { type LedgerMonth, LedgerUnavailable } from './metering/ledger.ts';
import { parseLedgerUrl } from './metering/ledger-url.ts';
import { openLedger } from './metering/open-ledger.ts';

/**
 * Reads a month of the ledger at LEDGER_URL, beside the services that use it, or says why it cannot. A file that
 * is not there is refused: a new ledger would have nothing to bill, and hide the mistake.
 */
export async function readLedgerMonth(
  ledgerUrl: string,
  month: string,
): Promise<LedgerMonth | { readonly faults: readonly string[] }> {
  const location = parseLedgerUrl(ledgerUrl);
  if (location.kind === 'invalid') {
    return { faults: [location.detail] };
  }
  if (location.kind === 'sqlite' && !existsSync(location.path)) {
    return { faults: ['LEDGER_URL names a file that does not exist: use the LEDGER_URL of the service'] };
  }
  const ledger = openLedger(location, { clock: systemClock });
  try {
    return await ledger.month(month, systemClock.now());
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) {
      throw error;
    }
    return { faults: [error.message] };
  } finally {
    await ledger.close();
  }
}

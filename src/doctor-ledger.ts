import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { type Finding, fine, wrong } from './doctor.ts';
import { type Ledger, LedgerUnavailable } from './metering/ledger.ts';
import { type LedgerLocation, parseLedgerUrl } from './metering/ledger-url.ts';
import { utcMonth } from './metering/months.ts';

/** Opens the ledger that there is. */
type Open = (location: Exclude<LedgerLocation, { kind: 'invalid' }>) => Ledger;

/** No clock is right that is before this was written. */
const CLOCK_FROM = new Date('2025-01-01T00:00:00Z');
const LEDGER_FIX = 'check the path, its permissions and the disk, or that PostgreSQL is up';

/** The ledger's totals against its journal, and the clock against the ledger. Makes no ledger where there is none. */
export async function ledgerFindings(config: Config, clock: Clock, open: Open): Promise<readonly Finding[]> {
  const location = parseLedgerUrl(config.LEDGER_URL);
  if (location.kind === 'invalid') {
    return [wrong('ledger', location.detail, 'correct LEDGER_URL')];
  }
  if (location.kind === 'sqlite' && !existsSync(location.path)) {
    const ledger = canBeMade(location.path)
      ? fine('ledger', 'not there yet: serve makes it at its first start')
      : wrong('ledger', 'there is none, and none can be made at LEDGER_URL', LEDGER_FIX);
    return [ledger, clockFinding(clock, null)];
  }
  const ledger = open(location);
  try {
    const mismatches = await ledger.verify();
    const { month } = await ledger.usage('', null, clock.now());
    return [
      mismatches.length === 0
        ? fine('ledger', 'the totals are what the journal adds up to')
        : wrong(
            'ledger',
            `${mismatches.length} totals differ from the journal, the first of them ${mismatches[0]?.meter} in ${mismatches[0]?.month}`,
            'bill nothing from it before it is restored or looked into',
          ),
      clockFinding(clock, month),
    ];
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) {
      throw error;
    }
    return [wrong('ledger', error.message, LEDGER_FIX), clockFinding(clock, null)];
  } finally {
    await ledger.close();
  }
}

/** The month is what quotas hang on: a clock behind the ledger's newest month would count in that one. */
function clockFinding(clock: Clock, newestMonth: string | null): Finding {
  const now = clock.now();
  const month = utcMonth(now);
  const behind = now < CLOCK_FROM || (newestMonth !== null && newestMonth > month);
  return behind
    ? wrong(
        'clock',
        `month ${month}, behind the ledger’s`,
        'set the clock (NTP); runs count in the later month',
      )
    : fine('clock', `month ${month}, UTC`);
}

/** Whether the first folder on the way to a file that there is may be written to. */
function canBeMade(path: string): boolean {
  let folder = dirname(resolve(path));
  while (!existsSync(folder) && folder !== dirname(folder)) {
    folder = dirname(folder);
  }
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

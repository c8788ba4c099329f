import { createHash } from 'node:crypto';
import type { LedgerMonth, TenantMonth } from './ledger.ts';

export const EXPORT_FORMATS = ['json', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * A month of the ledger as text for billing: totals and outcomes by tenant, whether the month is closed, and a
 * SHA-256 over all of it. A closed month gives the same bytes each time, from whichever kind of store.
 */
export function exportUsage(month: LedgerMonth, format: ExportFormat): string {
  const rows = month.tenants
    // A permit that was opened and given back leaves a row of zeros: not a thing to bill.
    .filter((tenant) => tenant.computeRuns > 0 || tenant.openPermits > 0)
    .map(exportRow);
  const content = { month: month.month, closed: month.closed, tenants: rows };
  const digest = `sha256:${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`;
  if (format === 'json') return `${JSON.stringify({ ...content, ledger_digest: digest }, null, 2)}\n`;
  const lines = rows.map((row) =>
    [
      month.month,
      month.closed,
      row.tenant,
      row.compute_runs,
      row.compute_seconds,
      row.open_permits,
      outcomesText(row.outcomes),
      digest,
    ].join(','),
  );
  return [CSV_HEAD, ...lines, ''].join('\n');
}

// No field needs quotes: ids and outcomes are words, the rest are numbers.
const CSV_HEAD = 'month,closed,tenant,compute_runs,compute_seconds,open_permits,outcomes,ledger_digest';

function exportRow(tenant: TenantMonth) {
  return {
    tenant: tenant.tenant,
    compute_runs: tenant.computeRuns,
    compute_seconds: tenant.computeSeconds,
    open_permits: tenant.openPermits,
    outcomes: tenant.outcomes,
  };
}

/** `exception:1 succeeded:10`. */
function outcomesText(outcomes: TenantMonth['outcomes']): string {
  return Object.entries(outcomes)
    .map(([outcome, runs]) => `${outcome}:${runs}`)
    .join(' ');
}

import { parseArgs } from 'node:util';
import { readLedgerMonth } from '../compose-usage.ts';
import { loadLedgerUrl } from '../config.ts';
import { MONTH } from '../metering/months.ts';
import { EXPORT_FORMATS, exportUsage } from '../metering/usage-export.ts';
import { type Command, helpOf } from './command.ts';
import { refuse } from './terminal.ts';

const OPTIONS = {
  month: { type: 'string' },
  format: { type: 'string', default: 'json' },
} as const;

export const usageExport: Command = {
  name: 'usage export',
  summary: ['every tenant’s counts of a month, for billing; reads LEDGER_URL'],
  options: [
    ['--month <yyyy-mm>', 'UTC month; one that can still grow is marked as not closed'],
    ['--format <f>', 'json (the default) or csv'],
  ],
  run: async (args) => {
    let values: { month?: string; format: string };
    try {
      ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
    } catch (error) {
      return refuse([(error as Error).message, '', helpOf(usageExport)]);
    }
    const { month = '' } = values;
    const format = EXPORT_FORMATS.find((name) => name === values.format);
    const ledgerUrl = loadLedgerUrl();
    const faults = [
      ...(MONTH.test(month) ? [] : ['--month must be a UTC month written yyyy-mm, such as 2026-11']),
      ...(format === undefined ? [`--format must be one of ${EXPORT_FORMATS.join(', ')}`] : []),
      ...(typeof ledgerUrl === 'string' ? [] : ledgerUrl.faults),
    ];
    if (faults.length > 0 || format === undefined || typeof ledgerUrl !== 'string') {
      return refuse(faults);
    }
    const counted = await readLedgerMonth(ledgerUrl, month);
    if ('faults' in counted) {
      return refuse(counted.faults);
    }
    process.stdout.write(exportUsage(counted, format));
  },
};

import { parseArgs } from 'node:util';
import { createKey } from '../tenants.ts';
import { type Command, helpOf } from './command.ts';
import { refuse, say } from './terminal.ts';

const OPTIONS = {
  tenant: { type: 'string' },
  runs: { type: 'string' },
  seconds: { type: 'string' },
} as const;

export const keyCreate: Command = {
  name: 'key create',
  summary: ['a new API key and its tenants-file entry'],
  options: [
    ['--tenant <id>', 'lower-case letters, digits, - and _'],
    ['--runs <n>', 'compute_runs a month; "unlimited" for no cap'],
    ['--seconds <n>', 'compute_seconds a month; "unlimited" for no cap'],
  ],
  run: (args) => {
    let values: { tenant?: string; runs?: string; seconds?: string };
    try {
      ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
    } catch (error) {
      return refuse([(error as Error).message, '', helpOf(keyCreate)]);
    }
    const { tenant } = values;
    const caps = { runs: cap(values.runs), seconds: cap(values.seconds) };
    const faults = [
      ...(/^[a-z0-9][a-z0-9_-]{0,62}$/.test(tenant ?? '')
        ? []
        : ['--tenant must be 1 to 63 lower-case letters, digits, - or _']),
      ...(caps.runs === undefined ? ['--runs must be a whole number, or "unlimited"'] : []),
      ...(caps.seconds === undefined ? ['--seconds must be a whole number, or "unlimited"'] : []),
    ];
    if (faults.length > 0 || tenant === undefined || caps.runs === undefined || caps.seconds === undefined) {
      return refuse(faults);
    }
    const { key, entry } = createKey(tenant, caps.runs, caps.seconds);
    say(`API key (shown once; keep it safe):\n\n  ${key}\n\nEntry for "tenants" in TENANTS_FILE:\n`);
    say(JSON.stringify(entry, null, 2));
  },
};

/** A cap: null is unlimited, undefined a fault. There is no default: a quota is a decision. */
function cap(text: string | undefined): number | null | undefined {
  if (text === 'unlimited') {
    return null;
  }
  const value = Number(text);
  return text !== undefined && /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

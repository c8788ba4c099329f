#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import closeWithGrace from 'close-with-grace';
import { composeService } from './compose.ts';
import { examine } from './compose-doctor.ts';
import { startSandboxd } from './compose-sandboxd.ts';
import { readLedgerMonth } from './compose-usage.ts';
import { loadConfig, loadLedgerUrl, loadSandboxdConfig, SANDBOXD_SETTINGS, settingsTable } from './config.ts';
import { type Finding, findingsJson, findingsTable, healthy, wrong } from './doctor.ts';
import { MONTH } from './metering/months.ts';
import { EXPORT_FORMATS, exportUsage } from './metering/usage-export.ts';
import { startModelCommand } from './model-command.ts';
import { createKey } from './tenants.ts';

const USAGE = `compute-step <command>

  serve                  the HTTP API; settings come from the environment (serve --help lists them)
  sandboxd               the sandbox in a process of its own, which alone holds the engine; serve reaches it by
                         SANDBOXD_SOCKET (sandboxd --help lists its settings)
  doctor                 looks at everything serve needs, with its settings; ends with 1 if anything is wrong
      --json             for a program
      --model            also connects to the default model webhook, without asking it anything
  key create             a new API key and its tenants-file entry
      --tenant <id>      lower-case letters, digits, - and _
      --runs <n>         compute_runs a month; "unlimited" for no cap
      --seconds <n>      compute_seconds a month; "unlimited" for no cap
  usage export           every tenant's counts of a month, for billing; reads LEDGER_URL
      --month <yyyy-mm>  UTC month; one that can still grow is marked as not closed
      --format <f>       json (the default) or csv
  model                  a scripted model webhook, for tests of a plan without a model
      --script <file>    what it answers (docs/scripted-model.md)
      --port <n>         0, the default, takes a free one; --host is 127.0.0.1 by default
      --signing-secret-file <file>  refuses requests that are not signed with the secret in it
      --record <file>    writes every request there, one JSON line each
`;

/** A word on standard output; nothing else in the service writes there but the log. */
function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Ends with 2 and what is wrong, one line each. */
function refuse(lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exitCode = 2;
}

function version(): string {
  return (
    JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  ).version;
}

async function serve(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    say(`Settings of \`compute-step serve\` (environment)\n\n${settingsTable()}`);
    return;
  }
  if (args.length > 0) {
    return refuse([`serve takes no arguments but --help; settings come from the environment`]);
  }
  const config = loadConfig();
  if ('kind' in config) {
    return refuse(config.faults);
  }
  const service = await composeService(config, version());
  if ('faults' in service) {
    return refuse(service.faults);
  }
  process.on('SIGHUP', () => service.reloadTenants());
  closeWithGrace({ delay: (config.SHUTDOWN_GRACE_SECONDS + 15) * 1000 }, async ({ err }) => {
    if (err !== undefined) {
      service.failed(err);
    }
    await service.close();
  });
  try {
    await service.listen();
  } catch (error) {
    refuse([listenFault(error)]);
    await service.close();
    process.exit();
  }
}

/** Why an address cannot be listened on, and what to do. */
function listenFault(error: unknown): string {
  const { code, address, port } = error as { code?: string; address?: string; port?: number };
  const at = `${address ?? 'the address'}:${port ?? ''}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${at} is in use: choose another PORT or METRICS_PORT, or end what listens there`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${at} is not an address of this machine: choose another HOST or METRICS_HOST`;
    case 'EACCES':
      return `${at} may not be listened on by this user: choose a PORT from 1024 on`;
    default:
      return `the service cannot listen (${code ?? 'unknown error'}): check HOST, PORT, METRICS_HOST and METRICS_PORT`;
  }
}

async function sandboxd(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    say(`Settings of \`compute-step sandboxd\` (environment)\n\n${settingsTable(SANDBOXD_SETTINGS)}`);
    return;
  }
  if (args.length > 0) {
    return refuse(['sandboxd takes no arguments but --help; settings come from the environment']);
  }
  const config = loadSandboxdConfig();
  if ('kind' in config) {
    return refuse(config.faults);
  }
  const daemon = await startSandboxd(config);
  if ('faults' in daemon) {
    return refuse(daemon.faults);
  }
  closeWithGrace({ delay: (config.SHUTDOWN_GRACE_SECONDS + 15) * 1000 }, async ({ err }) => {
    if (err !== undefined) {
      daemon.failed(err);
    }
    await daemon.close();
  });
}

const DOCTOR_OPTIONS = { json: { type: 'boolean' }, model: { type: 'boolean' } } as const;

async function doctor(args: readonly string[]): Promise<void> {
  let values: { json?: boolean; model?: boolean };
  try {
    ({ values } = parseArgs({ args: [...args], options: DOCTOR_OPTIONS }));
  } catch (error) {
    return refuse([(error as Error).message, '', USAGE]);
  }
  const config = loadConfig();
  const findings: readonly Finding[] =
    'kind' in config
      ? config.faults.map((fault) => wrong('settings', fault, 'serve --help lists every setting'))
      : await examine(config, { model: values.model === true });
  say(values.json === true ? findingsJson(findings) : findingsTable(findings));
  process.exitCode = healthy(findings) ? 0 : 1;
}

const KEY_OPTIONS = {
  tenant: { type: 'string' },
  runs: { type: 'string' },
  seconds: { type: 'string' },
} as const;

function createKeyCommand(args: readonly string[]): void {
  let values: { tenant?: string; runs?: string; seconds?: string };
  try {
    ({ values } = parseArgs({ args: [...args], options: KEY_OPTIONS }));
  } catch (error) {
    refuse([(error as Error).message, '', USAGE]);
    return;
  }
  const caps = { runs: cap(values.runs), seconds: cap(values.seconds) };
  const faults = [
    ...(/^[a-z0-9][a-z0-9_-]{0,62}$/.test(values.tenant ?? '')
      ? []
      : ['--tenant must be 1 to 63 lower-case letters, digits, - or _']),
    ...(caps.runs === undefined ? ['--runs must be a whole number, or "unlimited"'] : []),
    ...(caps.seconds === undefined ? ['--seconds must be a whole number, or "unlimited"'] : []),
  ];
  if (
    faults.length > 0 ||
    values.tenant === undefined ||
    caps.runs === undefined ||
    caps.seconds === undefined
  ) {
    refuse(faults);
    return;
  }
  const { key, entry } = createKey(values.tenant, caps.runs, caps.seconds);
  say(`API key (shown once; keep it safe):\n\n  ${key}\n\nEntry for "tenants" in TENANTS_FILE:\n`);
  say(JSON.stringify(entry, null, 2));
}

/** A cap: null is unlimited, undefined a fault. There is no default: a quota is a decision. */
function cap(text: string | undefined): number | null | undefined {
  if (text === 'unlimited') {
    return null;
  }
  const value = Number(text);
  return text !== undefined && /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

const EXPORT_OPTIONS = {
  month: { type: 'string' },
  format: { type: 'string', default: 'json' },
} as const;

async function exportUsageCommand(args: readonly string[]): Promise<void> {
  let values: { month?: string; format: string };
  try {
    ({ values } = parseArgs({ args: [...args], options: EXPORT_OPTIONS }));
  } catch (error) {
    return refuse([(error as Error).message, '', USAGE]);
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
}

async function modelCommand(args: readonly string[]): Promise<void> {
  const model = await startModelCommand(args);
  if ('faults' in model) {
    return refuse([...model.faults, '', USAGE]);
  }
  closeWithGrace({ delay: 5000 }, () => model.close());
  say(`listening ${model.url}\nThe service reaches it with MODEL_ALLOWED_HOSTS=${model.hostPort}`);
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'serve') {
  await serve(rest);
} else if (command === 'sandboxd') {
  await sandboxd(rest);
} else if (command === 'doctor') {
  await doctor(rest);
} else if (command === 'key' && rest[0] === 'create') {
  createKeyCommand(rest.slice(1));
} else if (command === 'usage' && rest[0] === 'export') {
  await exportUsageCommand(rest.slice(1));
} else if (command === 'model') {
  await modelCommand(rest);
} else if (command === undefined || command === '--help' || command === 'help') {
  say(USAGE);
} else if (command === '--version') {
  say(version());
} else {
  refuse([`unknown command: ${command.slice(0, 64)}`, '', USAGE]);
}

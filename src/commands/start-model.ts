import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { answersOf, readScript, type Script } from '../model/script.ts';
import { type ScriptedModel, startScriptedModel } from '../model/scripted.ts';
import type { ScriptedRequest } from '../model/scripted-request.ts';
import { signingSecretFault } from '../model/signature.ts';

const OPTIONS = {
  script: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '0' },
  'signing-secret-file': { type: 'string' },
  record: { type: 'string' },
} as const;

/** Requests written to the record; later ones are answered and not recorded, so that a soak fills no disk. */
const MAX_RECORDED = 10_000;
/** Headers that hold a secret: the record shows that they came, and nothing of them. */
const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'proxy-authorization', 'cookie']);

/** What is wrong with the command, one line each. */
export interface CommandFaults {
  readonly faults: readonly string[];
}

/** Starts the scripted model that the arguments of `compute-step model` describe. */
export async function startModelCommand(args: readonly string[]): Promise<ScriptedModel | CommandFaults> {
  const read = readArguments(args);
  if ('faults' in read) {
    return read;
  }
  const { script, host, port, secret, record } = read;
  const answer = answersOf(script);
  let recorded = 0;
  try {
    if (record !== null) {
      writeFileSync(record, '', { mode: 0o600 });
    }
    return await startScriptedModel({
      host,
      port,
      ...(secret === null ? {} : { signingSecret: secret }),
      received: (request) => {
        if (record !== null && recorded < MAX_RECORDED) {
          recorded += 1;
          appendFileSync(record, `${JSON.stringify(recordOf(request))}\n`);
        }
      },
      answer,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { faults: [`the model cannot start (${code}): check --host, --port and --record`] };
  }
}

interface ModelArguments {
  readonly script: Script;
  readonly host: string;
  readonly port: number;
  readonly secret: string | null;
  readonly record: string | null;
}

function readArguments(args: readonly string[]): ModelArguments | CommandFaults {
  const faults: string[] = [];
  let values: {
    script?: string;
    host: string;
    port: string;
    'signing-secret-file'?: string;
    record?: string;
  };
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
  } catch (error) {
    return { faults: [(error as Error).message] };
  }
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    faults.push('--port must be a whole number from 0 to 65535; 0 takes a free one');
  }
  const script = values.script === undefined ? null : readFile('--script', values.script, faults);
  if (values.script === undefined) {
    faults.push('--script must name a JSON file; docs/scripted-model.md says what stands in it');
  }
  const parsed = script === null ? null : readScript(script);
  if (parsed !== null && 'kind' in parsed) {
    faults.push(...parsed.faults.map((fault) => `--script: ${fault}`));
  }
  const secretFile = values['signing-secret-file'];
  const secret =
    secretFile === undefined ? null : (readFile('--signing-secret-file', secretFile, faults)?.trim() ?? null);
  const secretFault = secret === null ? null : signingSecretFault(secret);
  if (secretFault !== null) {
    faults.push(`--signing-secret-file: what stands in it ${secretFault}`);
  }
  return faults.length > 0 || parsed === null || 'kind' in parsed
    ? { faults }
    : { script: parsed, host: values.host, port, secret, record: values.record ?? null };
}

function readFile(option: string, path: string, faults: string[]): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    faults.push(`${option} cannot be read (${(error as NodeJS.ErrnoException).code}): check the path`);
    return null;
  }
}

/** A request as one line of the record. */
function recordOf({ index, path, format, attempt, signature, headers, json }: ScriptedRequest): object {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    SECRET_HEADERS.has(name) ? '…' : value,
  ]);
  return { index, path, format, attempt, signature, headers: Object.fromEntries(shown), body: json };
}

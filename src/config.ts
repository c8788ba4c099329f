import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import {
  bytes,
  decimal,
  engineHost,
  headerList,
  hostList,
  integer,
  ledgerUrl,
  MIB,
  matching,
  oneOf,
  otlpEndpoint,
  type Parse,
  socketPath,
  text,
  webUrl,
} from './setting-values.ts';

interface Setting<T> {
  readonly default: NoInfer<T> | (() => NoInfer<T>);
  readonly parse: Parse<T>;
  readonly help: string;
  /** Shown in the table instead of the default's value. */
  readonly shown?: string;
  /** May be given as a file by `<NAME>_FILE`, and is never printed. */
  readonly secret?: true;
}

const port = integer(0, 65535);
const host = matching(/^[0-9A-Za-z.:_-]+$/, 'must be a host name or an IP address');
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

function setting<T>(spec: Setting<T>): Setting<T> {
  return spec;
}

/**
 * Every setting of the service: name, default, check and help, in the order of the table that `serve --help`
 * prints. Nothing else reads the environment.
 */
export const SETTINGS = {
  HOST: setting({ default: '127.0.0.1', parse: host, help: 'Address the API listens on.' }),
  PORT: setting({ default: 8080, parse: port, help: 'Port of the API; 0 takes a free one.' }),
  METRICS_HOST: setting({ default: '127.0.0.1', parse: host, help: 'Address /metrics listens on.' }),
  METRICS_PORT: setting({ default: 9464, parse: port, help: 'Port of /metrics; 0 takes a free one.' }),
  METRICS_TENANT_LABEL: setting({
    default: 'all',
    parse: oneOf(['all', 'off']),
    help: 'all: metrics carry the tenant; off: they do not.',
  }),
  TENANTS_FILE: setting<string | null>({
    default: null,
    shown: 'required',
    parse: text,
    help: 'JSON file with tenants, key digests and quotas (see `compute-step key create`).',
  }),
  LEDGER_URL: setting({
    default: 'sqlite:./data/ledger.db',
    secret: true,
    parse: ledgerUrl,
    help: 'Where runs are counted: sqlite:<file>, or postgres://… for several replicas.',
  }),
  LEDGER_RETENTION_DAYS: setting({
    default: 400,
    parse: integer(31, 36500),
    help: 'Days that rows of single runs are kept; monthly totals stay.',
  }),
  DOCKER_HOST: setting<string | null>({
    default: null,
    shown: 'the local socket',
    parse: engineHost,
    help: 'The container engine; not used by a serve that has SANDBOXD_SOCKET.',
  }),
  SANDBOXD_SOCKET: setting<string | null>({
    default: null,
    shown: 'empty: embedded',
    parse: socketPath,
    help: 'Unix socket of `compute-step sandboxd`; empty: serve holds the engine itself.',
  }),
  BODY_MAX_BYTES: setting({
    default: 32 * MIB,
    shown: '32 MiB',
    parse: bytes(1024, 1024 * MIB),
    help: 'Largest request body.',
  }),
  BODY_INFLIGHT_MAX_BYTES: setting({
    default: 256 * MIB,
    shown: '256 MiB',
    parse: bytes(1024, 64 * 1024 * MIB),
    help: 'All bodies in work together; past it a request is 503 overloaded.',
  }),
  JSON_MAX_DEPTH: setting({
    default: 64,
    parse: integer(4, 500),
    help: 'Deepest nesting of a source or a result.',
  }),
  PROMPT_MAX_BYTES: setting({
    default: 64 * 1024,
    shown: '64 KiB',
    parse: bytes(4096, 4 * MIB),
    help: 'Largest prompt; a larger schema is cut and says so.',
  }),
  RESULT_MAX_BYTES: setting({
    default: 4 * MIB,
    shown: '4 MiB',
    parse: bytes(1024, 256 * MIB),
    help: 'Largest result.',
  }),
  REQUEST_TIMEOUT_SECONDS: setting({
    default: 120,
    parse: integer(1, 3600),
    help: 'Deadline of a request: the default and the most a caller may ask.',
  }),
  IDEMPOTENCY_TTL_SECONDS: setting({
    default: 600,
    parse: integer(1, 86_400),
    help: 'How long an answer is held for its Idempotency-Key, in memory.',
  }),
  SANDBOX_POOL_SIZE: setting({
    default: 4,
    parse: integer(0, 256),
    help: 'Started, unused containers held ready; each is used once.',
  }),
  SANDBOX_MAX_CONCURRENCY: setting({
    default: () => availableParallelism(),
    shown: 'cores',
    parse: integer(1, 1024),
    help: 'Runs at a time.',
  }),
  SANDBOX_QUEUE_LIMIT: setting({
    default: 64,
    parse: integer(0, 100000),
    help: 'Runs that may wait for a place; past it 503 overloaded.',
  }),
  SANDBOX_WALL_SECONDS: setting({
    default: 10,
    parse: decimal(0.1, 3600),
    help: 'Wall time of a run: the default and the most a caller may ask.',
  }),
  SANDBOX_MEMORY_MB: setting({
    default: 256,
    parse: integer(32, 65536),
    help: 'Memory of a run, swap included.',
  }),
  SANDBOX_CPUS: setting({ default: 1, parse: decimal(0.1, 64), help: 'CPU share of a run.' }),
  SANDBOX_IMAGE: setting<string | null>({
    default: null,
    shown: 'built image',
    parse: text,
    help: 'Image of the sandbox; built by `npm run image`.',
  }),
  SANDBOX_RUNTIME: setting<string | null>({
    default: null,
    shown: 'engine’s',
    parse: matching(/^[A-Za-z0-9._-]+$/, 'must be the name of a runtime the engine knows, such as runsc'),
    help: 'OCI runtime. There is no fallback when the engine does not know it.',
  }),
  MODEL_WEBHOOK_URL: setting<string | null>({
    default: null,
    shown: 'none',
    parse: webUrl,
    help: 'Default model webhook.',
  }),
  MODEL_WEBHOOK_FORMAT: setting({
    default: 'compute-step',
    parse: oneOf(['compute-step', 'openai', 'anthropic']),
    help: 'Shape of its request.',
  }),
  MODEL_NAME: setting<string | null>({
    default: null,
    shown: 'none',
    parse: text,
    help: 'Model name for the provider formats.',
  }),
  MODEL_AUTHORIZATION: setting<string | null>({
    default: null,
    shown: 'none',
    secret: true,
    parse: matching(/^[\x20-\x7e]+$/, 'must be one line of printable ASCII'),
    help: 'Authorization header, sent to MODEL_WEBHOOK_URL only.',
  }),
  MODEL_SIGNING_SECRET: setting<string | null>({
    default: null,
    shown: 'none',
    secret: true,
    parse: matching(
      /^(whsec_)?[A-Za-z0-9+/]{32,}={0,2}$/,
      'must be at least 24 random bytes in base64, with or without whsec_ before them',
    ),
    help: 'Standard Webhooks secret for MODEL_WEBHOOK_URL.',
  }),
  MODEL_ALLOWED_HOSTS: setting<readonly string[]>({
    default: [],
    shown: 'none',
    parse: hostList,
    help: 'Exact host:port entries that may be private or plain http.',
  }),
  MODEL_TIMEOUT_SECONDS: setting({
    default: 60,
    parse: integer(1, 3600),
    help: 'Longest wait for a model.',
  }),
  PROMPT_PACK_DIR: setting<string | null>({
    default: null,
    shown: 'built-in',
    parse: text,
    help: 'Folder with pack.json, system.md and user.md.',
  }),
  FUNCTION_CACHE_ENTRIES: setting({
    default: 1000,
    parse: integer(0, 1_000_000),
    help: 'Functions kept a tenant, where the cache is used; at most 4 MiB.',
  }),
  UI: setting({ default: 'on', parse: oneOf(['on', 'off']), help: 'Whether the page at / is served.' }),
  LOG_LEVEL: setting({ default: 'info', parse: oneOf(LOG_LEVELS), help: 'One line a step at info.' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting<string | null>({
    default: null,
    shown: 'none',
    parse: otlpEndpoint,
    help: 'Where traces go by OTLP over HTTP (v1/traces below it); empty: there are none.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting<Readonly<Record<string, string>>>({
    default: {},
    shown: 'none',
    secret: true,
    parse: headerList,
    help: 'Headers of its requests: name=value,name=value, percent-encoded.',
  }),
  SHUTDOWN_GRACE_SECONDS: setting({
    default: 20,
    parse: integer(0, 3600),
    help: 'How long running steps may finish after SIGTERM.',
  }),
} as const;

type Value<S> = S extends Setting<infer T> ? T : never;
type Name = keyof typeof SETTINGS;
type Read<N extends Name> = { readonly [K in N]: Value<(typeof SETTINGS)[K]> };

/** The settings that `sandboxd` reads; a wrong value of another is not its business. */
export const SANDBOXD_SETTINGS = [
  'SANDBOXD_SOCKET',
  'DOCKER_HOST',
  'SANDBOX_POOL_SIZE',
  'SANDBOX_MAX_CONCURRENCY',
  'SANDBOX_QUEUE_LIMIT',
  'SANDBOX_WALL_SECONDS',
  'SANDBOX_MEMORY_MB',
  'SANDBOX_CPUS',
  'SANDBOX_IMAGE',
  'SANDBOX_RUNTIME',
  'BODY_MAX_BYTES',
  'BODY_INFLIGHT_MAX_BYTES',
  'JSON_MAX_DEPTH',
  'RESULT_MAX_BYTES',
  'REQUEST_TIMEOUT_SECONDS',
  'PROMPT_PACK_DIR',
  'LOG_LEVEL',
  'SHUTDOWN_GRACE_SECONDS',
] as const satisfies readonly Name[];

/** The settings of `serve`, checked and frozen. */
export type Config = Read<Name> & { readonly TENANTS_FILE: string };
/** Those of whichever process holds the engine. */
export type SandboxConfig = Read<(typeof SANDBOXD_SETTINGS)[number]>;
/** The settings of `sandboxd`. */
export type SandboxdConfig = SandboxConfig & { readonly SANDBOXD_SOCKET: string };
type Environment = Readonly<Record<string, string | undefined>>;

/** Every fault of the settings, one line each. Never holds a value of a secret. */
export interface ConfigFaults {
  readonly kind: 'faults';
  readonly faults: readonly string[];
}

/**
 * Reads the settings of `serve` from the environment into a frozen Config, or reports every fault at once. An empty
 * variable counts as not set, as Compose sets unset variables to "".
 */
export function loadConfig(env: Environment = process.env): Config | ConfigFaults {
  const faults: string[] = [];
  const config = readSettings(Object.keys(SETTINGS) as Name[], env, faults);
  if (config.TENANTS_FILE === null) {
    faults.push(
      'TENANTS_FILE is required: {"tenants": […]} with entries as `compute-step key create` prints them',
    );
  }
  return faults.length > 0 ? { kind: 'faults', faults } : (Object.freeze(config) as unknown as Config);
}

/** Reads the settings of `sandboxd` the same way: no tenants, no ledger, no listener of a network. */
export function loadSandboxdConfig(env: Environment = process.env): SandboxdConfig | ConfigFaults {
  const faults: string[] = [];
  const config = readSettings(SANDBOXD_SETTINGS, env, faults);
  if (config.SANDBOXD_SOCKET === null) {
    faults.push('SANDBOXD_SOCKET is required: the path to listen on, which serve is given too');
  }
  return faults.length > 0
    ? { kind: 'faults', faults }
    : (Object.freeze(config) as unknown as SandboxdConfig);
}

/** Reads LEDGER_URL alone, for a command that only reads the ledger. */
export function loadLedgerUrl(env: Environment = process.env): string | ConfigFaults {
  const faults: string[] = [];
  const { LEDGER_URL } = readSettings(['LEDGER_URL'], env, faults);
  return faults.length > 0 ? { kind: 'faults', faults } : (LEDGER_URL as string);
}

function readSettings(names: readonly Name[], env: Environment, faults: string[]): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const name of names) {
    const spec = SETTINGS[name] as Setting<unknown>;
    const given = rawValue(env, name, spec, faults);
    if (given === null) {
      config[name] = typeof spec.default === 'function' ? spec.default() : spec.default;
      continue;
    }
    try {
      config[name] = spec.parse(given);
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}`);
    }
  }
  return config;
}

function rawValue(env: Environment, name: string, spec: Setting<unknown>, faults: string[]): string | null {
  const direct = env[name];
  const file = spec.secret === true ? env[`${name}_FILE`] : undefined;
  if (file !== undefined && file !== '') {
    if (direct !== undefined && direct !== '') {
      faults.push(`${name} and ${name}_FILE are both set: leave one out`);
      return null;
    }
    try {
      return readFileSync(file, 'utf8').trim();
    } catch {
      faults.push(`${name}_FILE cannot be read: check the path and its permissions`);
      return null;
    }
  }
  return direct === undefined || direct === '' ? null : direct;
}

/** Settings as an aligned table: name, default, help; all of them, or those named. */
export function settingsTable(names = Object.keys(SETTINGS) as readonly Name[]): string {
  const all = names.map((name) => [name, SETTINGS[name] as Setting<unknown>] as const);
  const rows = all.map(([name, spec]) => [
    name,
    spec.shown ?? String(spec.default),
    spec.secret === true ? `${spec.help} Also as ${name}_FILE.` : spec.help,
  ]);
  const width = (column: number) => Math.max(...rows.map((row) => (row[column] ?? '').length));
  const [first, second] = [width(0), width(1)];
  return rows
    .map(([name, value, help]) => `${name?.padEnd(first)}  ${value?.padEnd(second)}  ${help}`)
    .join('\n');
}

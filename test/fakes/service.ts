import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Clock, systemClock } from '../../src/clock.ts';
import { type AppSettings, composeApp } from '../../src/compose-app.ts';
import type { Tenant } from '../../src/contract/tenant.ts';
import { HTTP_LIMITS, type HttpLimits } from '../../src/http/limits.ts';
import { EVENT_STREAM_BOUNDS, type EventStreamBounds } from '../../src/http/sse.ts';
import type { LedgerOp } from '../../src/metering/ledger.ts';
import { createMeter } from '../../src/metering/meter.ts';
import { createSqlLedger } from '../../src/metering/sql-ledger.ts';
import { sqliteDialect } from '../../src/metering/sqlite-dialect.ts';
import type { ModelConfig } from '../../src/model/choose.ts';
import { createWebhookModel } from '../../src/model/webhook.ts';
import { BUILT_IN_PACK_DIR, loadPack } from '../../src/prompt/pack.ts';
import type { Sandbox } from '../../src/sandbox/port.ts';
import {
  type FinishedStep,
  type FunctionCacheOutcome,
  nullObserver,
  type StepObserver,
} from '../../src/step/observer.ts';
import type { Tracing } from '../../src/telemetry/tracing.ts';
import { createKey, openTenants } from '../../src/tenants.ts';
import { type FakeSandbox, fakeSandbox } from './sandbox.ts';
import {
  type ScriptedAnswer,
  type ScriptedModel,
  type ScriptedRequest,
  startScriptedModel,
} from './scripted-model.ts';

export interface TestServiceOptions {
  readonly sandbox?: Sandbox;
  readonly answer?: (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;
  readonly tenant?: Partial<Tenant>;
  /** Tenants besides `acme`, whose keys are in `keys`. */
  readonly moreTenants?: readonly (Partial<Tenant> & Pick<Tenant, 'id'>)[];
  /** `host:port` of webhooks besides the scripted one. */
  readonly allowedHosts?: readonly string[];
  /** Null: no default model. Left out: the scripted one. */
  readonly operatorModel?: ModelConfig | null;
  readonly bodyMaxBytes?: number;
  readonly bodyInflightMaxBytes?: number;
  readonly timeoutSeconds?: number;
  readonly ledgerPath?: string;
  readonly clock?: Clock;
  readonly cacheEntries?: number;
  readonly version?: string;
  /** Limits of connections that differ from the usual ones. */
  readonly limits?: Partial<HttpLimits>;
  readonly tracing?: Tracing;
  /** Bounds of streams of events that differ from the usual ones. */
  readonly events?: Partial<EventStreamBounds>;
  readonly ui?: AppSettings['UI'];
}

/** The API on fakes: real admission, ledger, prompt and webhook; a fake sandbox unless one is given. */
export interface TestService {
  readonly app: FastifyInstance;
  readonly sandbox: FakeSandbox;
  readonly model: ScriptedModel;
  readonly key: string;
  /** The key of each tenant by id. */
  readonly keys: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly finished: readonly FinishedStep[];
  readonly unexpected: readonly unknown[];
  /** The request ids they were logged with. */
  readonly unexpectedIds: readonly (string | undefined)[];
  /** The gauge of open permits, each time it was set. */
  readonly permitsOpen: readonly number[];
  /** What the function cache told, in order. */
  readonly cached: readonly FunctionCacheOutcome[];
  /** What the ledger was asked for, in order. */
  readonly ledgerOps: readonly LedgerOp[];
  readonly stopping: AbortController;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestAnswer>;
  get(path: string): Promise<TestAnswer>;
  close(): Promise<void>;
}

export interface TestAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/** The settings as they are by default, but for a deadline that suits tests. */
const SETTINGS: AppSettings = {
  BODY_MAX_BYTES: 32 * 1024 * 1024,
  BODY_INFLIGHT_MAX_BYTES: 256 * 1024 * 1024,
  JSON_MAX_DEPTH: 64,
  PROMPT_MAX_BYTES: 64 * 1024,
  RESULT_MAX_BYTES: 4 * 1024 * 1024,
  REQUEST_TIMEOUT_SECONDS: 30,
  IDEMPOTENCY_TTL_SECONDS: 600,
  SANDBOX_WALL_SECONDS: 10,
  SANDBOX_MEMORY_MB: 256,
  FUNCTION_CACHE_ENTRIES: 1000,
  UI: 'on',
};

const GOOD_FUNCTION = 'def compute(data):\n    return 42\n';

/** Builds the app for one test file or test; `close` removes everything it made. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-test-'));
  const model = await startScriptedModel({ answer: options.answer ?? (() => GOOD_FUNCTION) });
  const { key, entry } = createKey('acme', 1000, 3600);
  const tenantsFile = join(folder, 'tenants.json');
  const more = (options.moreTenants ?? []).map((tenant) => ({ ...createKey(tenant.id, 1000, 3600), tenant }));
  writeFileSync(
    tenantsFile,
    JSON.stringify({
      tenants: [{ ...entry, ...options.tenant }, ...more.map((each) => ({ ...each.entry, ...each.tenant }))],
    }),
  );
  const tenants = openTenants(tenantsFile, { modelFaults: () => [], loaded: () => {}, refused: () => {} });
  if ('kind' in tenants) {
    throw new Error(tenants.faults.join('; '));
  }
  const clock = options.clock ?? systemClock;
  const finished: FinishedStep[] = [];
  const unexpected: unknown[] = [];
  const unexpectedIds: (string | undefined)[] = [];
  const permitsOpen: number[] = [];
  const cached: FunctionCacheOutcome[] = [];
  const ledgerOps: LedgerOp[] = [];
  const observer: StepObserver = {
    ...nullObserver,
    stepFinished: (step) => finished.push(step),
    unexpected: (_where, error, id) => {
      unexpected.push(error);
      unexpectedIds.push(id);
    },
    permitsOpen: (count) => permitsOpen.push(count),
    functionCache: (outcome) => cached.push(outcome),
  };
  const sandbox = fakeSandbox();
  const usedSandbox = options.sandbox ?? sandbox;
  const pack = await loadPack(BUILT_IN_PACK_DIR);
  const webhook = createWebhookModel({
    timeoutMs: 30_000,
    allowedHosts: [model.hostPort, ...(options.allowedHosts ?? [])],
    clock,
  });
  const ledger = createSqlLedger({
    dialect: sqliteDialect({ path: options.ledgerPath ?? join(folder, 'ledger.db') }),
    clock,
    observe: (op) => ledgerOps.push(op),
  });
  const meter = createMeter({ ledger, clock, wallLimitMs: 10_000, instance: 'test' });
  const { app, stopping, close } = await composeApp(
    {
      sandbox: usedSandbox,
      meter,
      model: webhook,
      clock,
      observer,
      pack,
      tenants,
      operatorModel: options.operatorModel === undefined ? { url: model.url } : options.operatorModel,
      version: options.version ?? '0.0.0-test',
      tracing: options.tracing ?? null,
      events: { ...EVENT_STREAM_BOUNDS, ...options.events },
    },
    {
      ...SETTINGS,
      ...(options.bodyMaxBytes === undefined ? {} : { BODY_MAX_BYTES: options.bodyMaxBytes }),
      ...(options.bodyInflightMaxBytes === undefined
        ? {}
        : { BODY_INFLIGHT_MAX_BYTES: options.bodyInflightMaxBytes }),
      ...(options.ui === undefined ? {} : { UI: options.ui }),
      ...(options.timeoutSeconds === undefined ? {} : { REQUEST_TIMEOUT_SECONDS: options.timeoutSeconds }),
      ...(options.cacheEntries === undefined ? {} : { FUNCTION_CACHE_ENTRIES: options.cacheEntries }),
    },
    { ...HTTP_LIMITS, ...options.limits },
  );
  const authorization = `Bearer ${key}`;
  const answerOf = (response: { statusCode: number; body: string; headers: object }): TestAnswer => ({
    status: response.statusCode,
    text: response.body,
    headers: response.headers as Record<string, unknown>,
    get json() {
      return JSON.parse(response.body);
    },
  });
  return {
    app,
    sandbox,
    model,
    key,
    keys: new Map([['acme', key], ...more.map((each): [string, string] => [each.tenant.id, each.key])]),
    folder,
    finished,
    unexpected,
    unexpectedIds,
    permitsOpen,
    cached,
    ledgerOps,
    stopping,
    post: async (path, body, headers = {}) =>
      answerOf(
        await app.inject({
          method: 'POST',
          url: path,
          headers: { authorization, 'content-type': 'application/json', ...headers },
          payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        }),
      ),
    get: async (path) => answerOf(await app.inject({ method: 'GET', url: path, headers: { authorization } })),
    close: async () => {
      await close(0);
      await Promise.all([webhook.close(), model.close()]);
      tenants.close();
      await meter.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

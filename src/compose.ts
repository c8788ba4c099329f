import type { DestinationStream } from 'pino';
import { createAdmission } from './admission/admit.ts';
import { type Clock, systemClock } from './clock.ts';
import { DETAIL_MAX_BYTES, engineSandbox, packOf } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import { isProblem } from './contract/problem.ts';
import { buildApp } from './http/app.ts';
import { createIdempotencyStore } from './http/idempotency.ts';
import { buildMetricsApp } from './http/metrics-app.ts';
import { SERVED_ROUTES } from './http/served-routes.ts';
import { createBodyReader } from './json/read.ts';
import type { Ledger } from './metering/ledger.ts';
import { type LedgerLocation, parseLedgerUrl } from './metering/ledger-url.ts';
import { createMeter } from './metering/meter.ts';
import { openLedger } from './metering/open-ledger.ts';
import type { Meter } from './metering/permit.ts';
import { type ModelConfig, modelConfigFaults } from './model/choose.ts';
import { createWebhookModel } from './model/webhook.ts';
import type { Pack } from './prompt/pack.ts';
import { readyOf } from './ready.ts';
import { createSchemaChecker } from './result/schema-check.ts';
import type { Sandbox } from './sandbox/port.ts';
import { createRemoteSandbox } from './sandbox/remote.ts';
import { createDraft } from './step/draft.ts';
import { FunctionCache } from './step/function-cache.ts';
import { combineObservers, type StepObserver } from './step/observer.ts';
import type { StepBounds } from './step/ports.ts';
import { createStep } from './step/step.ts';
import { createLogger, type ServiceLog } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { openTenants, type Tenants, tenantModel } from './tenants.ts';

/** Held answers with an Idempotency-Key, over all tenants. */
const IDEMPOTENCY_MAX_BYTES = 64 * 1024 * 1024;
/** After the grace: how long the answers of ended requests may take to go out. */
const LAST_ANSWERS_MS = 2000;
const PRUNE_EVERY_MS = 24 * 3600 * 1000;
/** Quota gauges are read from the ledger at most this often: a scrape must not be a load. */
const QUOTAS_EVERY_MS = 15_000;

/** The service, made and not yet listening. */
export interface Service {
  /** Listens; resolves with the two addresses. */
  listen(): Promise<{ readonly api: string; readonly metrics: string }>;
  /** Reads the tenants file again; a bad one is logged and refused. */
  reloadTenants(): void;
  /** Logs what ended the process, when it was not a signal. */
  failed(error: unknown): void;
  /** Takes no more requests, lets running ones end within the grace, then ends them and removes every container. */
  close(): Promise<void>;
}

/** Why the service cannot start; each line names the setting and the fix. */
export interface StartFaults {
  readonly faults: readonly string[];
}

/** For tests alone, and no setting: puts a test's own object before a port, such as one that ends the process. */
export interface Wrap {
  readonly meter?: (meter: Meter) => Meter;
  readonly sandbox?: (sandbox: Sandbox) => Sandbox;
}

/** The composition root: the only place that makes adapters and hands them to what needs them. */
export async function composeService(
  config: Config,
  version: string,
  logTo?: DestinationStream,
  wrap: Wrap = {},
): Promise<Service | StartFaults> {
  const clock = systemClock;
  const log = createLogger({
    level: config.LOG_LEVEL,
    ...(logTo === undefined ? {} : { destination: logTo }),
  });
  const metrics = createMetrics({ version, tenantLabel: config.METRICS_TENANT_LABEL, routes: SERVED_ROUTES });
  const observer = combineObservers(log.observer, metrics.observer);

  const parts = await readParts(config, log, observer);
  if ('faults' in parts) {
    return parts;
  }
  const { pack, tenants, operatorModel, ledgerAt } = parts;
  const ledger = openLedger(ledgerAt, {
    clock,
    observe: (op, ms) => observer.ledgerOp(op, ms / 1000),
  });
  const wallLimitMs = config.SANDBOX_WALL_SECONDS * 1000;
  const ownMeter = createMeter({
    ledger,
    clock,
    wallLimitMs,
    instance: 'serve',
    events: {
      recovered: ({ settled, released }) =>
        log.info('ledger_recovered', `${settled} runs settled, ${released} permits released`),
      unavailable: (error) => observer.unexpected('ledger', error),
      dropped: (reason) => observer.unexpected('ledger_write_dropped', reason),
    },
  });
  const meter = wrap.meter?.(ownMeter) ?? ownMeter;
  const ownSandbox = sandboxOf(config, pack, clock, observer);
  const sandbox = wrap.sandbox?.(ownSandbox) ?? ownSandbox;
  const model = createWebhookModel({
    timeoutMs: config.MODEL_TIMEOUT_SECONDS * 1000,
    allowedHosts: config.MODEL_ALLOWED_HOSTS,
    clock,
    onOutcome: (outcome) => observer.modelRequest(outcome, 0),
  });
  const admission = await createAdmission(pack.modules);
  const checker = createSchemaChecker();
  const reader = createBodyReader({ maxDepth: config.JSON_MAX_DEPTH });
  const bounds: StepBounds = {
    promptMaxBytes: config.PROMPT_MAX_BYTES,
    resultMaxBytes: config.RESULT_MAX_BYTES,
    resultMaxDepth: config.JSON_MAX_DEPTH,
    detailMaxBytes: DETAIL_MAX_BYTES,
  };
  const ttlMs = config.IDEMPOTENCY_TTL_SECONDS * 1000;
  const stopping = new AbortController();
  const ready = readyOf(sandbox, meter, observer);
  const cache = new FunctionCache({ entriesPerTenant: config.FUNCTION_CACHE_ENTRIES, observer });
  const ports = { pack, model, admission, cache, sandbox, meter, checker, clock, observer, bounds };
  const app = await buildApp({
    step: createStep(ports),
    draft: createDraft(ports),
    stepReader: {
      reader,
      checker,
      operatorModel,
      limits: {
        wallSeconds: config.SANDBOX_WALL_SECONDS,
        memoryMb: config.SANDBOX_MEMORY_MB,
        timeoutSeconds: config.REQUEST_TIMEOUT_SECONDS,
      },
    },
    ready,
    stopping: stopping.signal,
    admission,
    sandbox,
    meter,
    pack,
    tenants,
    clock,
    observer,
    bounds,
    version,
    idempotency: { store: createIdempotencyStore({ clock, ttlMs, maxBytes: IDEMPOTENCY_MAX_BYTES }), ttlMs },
    bodyMaxBytes: config.BODY_MAX_BYTES,
    bodyInflightMaxBytes: config.BODY_INFLIGHT_MAX_BYTES,
  });
  const quotas = quotaGauges(meter, tenants, observer, clock);
  const metricsApp = buildMetricsApp({
    contentType: metrics.contentType,
    text: metrics.text,
    refresh: async () => {
      await Promise.all([ready(), quotas()]);
    },
  });
  const pruning = keepPruned(ledger, config.LEDGER_RETENTION_DAYS, clock, observer);

  return {
    listen: async () => {
      const api = await app.listen({ host: config.HOST, port: config.PORT });
      const metricsUrl = await metricsApp.listen({ host: config.METRICS_HOST, port: config.METRICS_PORT });
      log.info('listening', api);
      log.info('metrics_listening', metricsUrl);
      await ready();
      return { api, metrics: metricsUrl };
    },
    failed: (error) => observer.unexpected('uncaught', error),
    reloadTenants: () => {
      tenants.reload();
    },
    close: async () => {
      log.info('stopping');
      clearInterval(pruning);
      const graceMs = config.SHUTDOWN_GRACE_SECONDS * 1000;
      const grace = setTimeout(() => stopping.abort(), graceMs);
      // What is answered then has gone out; who still sends, or only holds a connection, is cut off.
      const cut = setTimeout(() => app.server.closeAllConnections(), graceMs + LAST_ANSWERS_MS);
      await app.close();
      clearTimeout(grace);
      clearTimeout(cut);
      await Promise.all([
        sandbox.close(),
        model.close(),
        checker.close(),
        reader.close(),
        metricsApp.close(),
      ]);
      tenants.close();
      await meter.close();
      log.info('stopped');
    },
  };
}

interface Parts {
  readonly pack: Pack;
  readonly tenants: Tenants;
  readonly operatorModel: ModelConfig | null;
  readonly ledgerAt: Exclude<LedgerLocation, { kind: 'invalid' }>;
}

/** Reads every file the service is made from, and reports the faults of all of them at once. */
async function readParts(
  config: Config,
  log: ServiceLog,
  observer: StepObserver,
): Promise<Parts | StartFaults> {
  const faults: string[] = [];
  const pack = await packOf(config.PROMPT_PACK_DIR, faults);
  const operatorModel = operatorModelOf(config);
  if (operatorModel !== null) {
    faults.push(...modelConfigFaults(operatorModel, 'MODEL_WEBHOOK_URL'));
  }
  const location = parseLedgerUrl(config.LEDGER_URL);
  if (location.kind === 'invalid') {
    faults.push(location.detail);
  }
  const tenants = openTenants(config.TENANTS_FILE, {
    modelFaults: (tenant) => {
      const own = tenantModel(tenant);
      return own === null ? [] : modelConfigFaults(own, `tenants[${tenant.id}].model`);
    },
    loaded: (list) => observer.tenantsLoaded(list.map(({ id }) => id)),
    refused: (refusal) => log.warn('tenants_file_refused', refusal.faults.join('; ')),
  });
  if ('kind' in tenants) {
    faults.push(...tenants.faults);
  }
  if (pack === null || 'kind' in tenants || location.kind === 'invalid' || faults.length > 0) {
    if (!('kind' in tenants)) {
      tenants.close();
    }
    return { faults };
  }
  return { pack, tenants, operatorModel, ledgerAt: location };
}

/** The sandbox in this process or in `sandboxd`: the same port. With the latter this process opens no engine. */
function sandboxOf(config: Config, pack: Pack, clock: Clock, observer: StepObserver): Sandbox {
  if (config.SANDBOXD_SOCKET === null) {
    return engineSandbox(config, pack, clock, observer);
  }
  return createRemoteSandbox({
    socketPath: config.SANDBOXD_SOCKET,
    maxRuns: config.SANDBOX_MAX_CONCURRENCY + config.SANDBOX_QUEUE_LIMIT,
    clock,
  });
}

function operatorModelOf(config: Config): ModelConfig | null {
  const { MODEL_WEBHOOK_URL: url, MODEL_NAME: name, MODEL_AUTHORIZATION: authorization } = config;
  const signingSecret = config.MODEL_SIGNING_SECRET;
  return url === null
    ? null
    : {
        url,
        format: config.MODEL_WEBHOOK_FORMAT,
        ...(name === null ? {} : { name }),
        ...(authorization === null ? {} : { authorization }),
        ...(signingSecret === null ? {} : { signingSecret }),
      };
}

/** Brings the quota gauges up to the ledger, at most every QUOTAS_EVERY_MS. */
function quotaGauges(
  meter: Meter,
  tenants: Tenants,
  observer: StepObserver,
  clock: Clock,
): () => Promise<void> {
  let readAtNs: bigint | null = null;
  return async () => {
    const nowNs = clock.monotonicNs();
    if (readAtNs !== null && nowNs - readAtNs < BigInt(QUOTAS_EVERY_MS) * 1_000_000n) {
      return;
    }
    readAtNs = nowNs;
    for (const tenant of tenants.list()) {
      const usage = await meter.usage(tenant.id);
      if (isProblem(usage)) {
        return;
      }
      observer.quota(tenant.id, 'compute_runs', usage.computeRuns, tenant.quotas.compute_runs);
      observer.quota(tenant.id, 'compute_seconds', usage.computeSeconds, tenant.quotas.compute_seconds);
    }
  };
}

/** Removes journal rows past their retention, now and daily. */
function keepPruned(ledger: Ledger, days: number, clock: Clock, observer: StepObserver): NodeJS.Timeout {
  const prune = (): void => {
    const before = new Date(clock.now().getTime() - days * 24 * 3600 * 1000);
    ledger.prune(before).catch((error: unknown) => observer.unexpected('ledger_prune', error));
  };
  prune();
  return setInterval(prune, PRUNE_EVERY_MS).unref();
}

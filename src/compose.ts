import type { DestinationStream } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { composeApp } from './compose-app.ts';
import { readParts, type StartFaults } from './compose-parts.ts';
import { engineSandbox } from './compose-sandbox.ts';
import { openTracing } from './compose-traces.ts';
import type { Config } from './config.ts';
import { listenerCloser } from './http/close-listener.ts';
import { listenOn } from './http/listener.ts';
import { buildMetricsApp } from './http/metrics-app.ts';
import { SERVED_ROUTES } from './http/served-routes.ts';
import { keepPruned } from './keep-pruned.ts';
import { createMeter } from './metering/meter.ts';
import { openLedger } from './metering/open-ledger.ts';
import type { Meter } from './metering/permit.ts';
import { createWebhookModel } from './model/webhook.ts';
import type { Pack } from './prompt/pack.ts';
import { quotaGauges } from './quota-gauges.ts';
import type { Sandbox } from './sandbox/port.ts';
import { createRemoteSandbox } from './sandbox/remote.ts';
import { combineObservers, type StepObserver } from './step/observer.ts';
import { createLogger } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';

/** How long a scrape may go on when all else is over. */
const LAST_SCRAPE_MS = 1000;

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
  const tracing = await openTracing(config, version, clock, log);
  const model = createWebhookModel({
    timeoutMs: config.MODEL_TIMEOUT_SECONDS * 1000,
    allowedHosts: config.MODEL_ALLOWED_HOSTS,
    clock,
    onOutcome: observer.modelRequest,
  });
  const { app, ready, close } = await composeApp(
    { sandbox, meter, model, clock, observer, pack, tenants, operatorModel, version, tracing },
    config,
  );
  const quotas = quotaGauges(meter, tenants, observer, clock);
  const metricsApp = buildMetricsApp({
    contentType: metrics.contentType,
    text: metrics.text,
    refresh: async () => {
      await Promise.all([ready(), quotas()]);
    },
  });
  const closeMetrics = listenerCloser(metricsApp);
  const pruning = keepPruned(ledger, config.LEDGER_RETENTION_DAYS, clock, observer);

  return {
    listen: async () => {
      const api = await listenOn(app, config.HOST, config.PORT);
      const metricsUrl = await listenOn(metricsApp, config.METRICS_HOST, config.METRICS_PORT);
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
      await close(config.SHUTDOWN_GRACE_SECONDS * 1000);
      await Promise.all([sandbox.close(), model.close(), closeMetrics(LAST_SCRAPE_MS)]);
      tenants.close();
      await meter.close();
      await tracing?.close();
      log.info('stopped');
    },
  };
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
    observer,
  });
}

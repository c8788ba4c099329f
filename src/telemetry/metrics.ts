import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { RULE_IDS } from '../contract/admission.ts';
import { READINESS_CHECKS } from '../contract/readiness.ts';
import { LEDGER_OPS } from '../metering/ledger.ts';
import { MODEL_OUTCOMES } from '../model/port.ts';
import {
  CONTAINER_START_OUTCOMES,
  CONTAINER_STATES,
  FUNCTION_CACHE_OUTCOMES,
  PHASES,
  QUOTA_METERS,
  type StepObserver,
  type StepOutcome,
} from '../step/observer.ts';

export interface MetricsOptions {
  readonly version: string;
  /** METRICS_TENANT_LABEL: with `off` the tenant label is empty and no quota is shown. */
  readonly tenantLabel: 'all' | 'off';
  /** Patterns of the routes that are served; any other shows as `other`. */
  readonly routes: readonly string[];
}

export interface Metrics {
  readonly observer: StepObserver;
  readonly contentType: string;
  /** Everything in the Prometheus text format. */
  text(): Promise<string>;
}

/** 1 ms to 60 s, closest together where a step with a pool in stock is: single-digit milliseconds. */
const PHASE_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60];
const LEDGER_BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const STATES = ['succeeded', 'failed'] as const;
/** Prom-client's gauges whose names promtool refuses, as only counters end in `_total`: each is the sum of another. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
] as const;
/** Outcomes that deploy/prometheus/alerts.yaml asks for: they begin at 0. Others begin with their first step. */
const WATCHED_OUTCOMES = [
  'succeeded',
  'internal_error',
  'ledger_unavailable',
  'overloaded',
  'sandbox_crashed',
  'sandbox_lost',
  'sandbox_unavailable',
] as const satisfies readonly StepOutcome[];

/**
 * The service's metrics in a registry of their own, fed by observing. Labels come from closed sets: the tables of
 * the code, the routes and the tenants file. What is not in the set shows as `other`, so that nothing a caller
 * sends can add a series. The ledger is the truth about usage; these counters start from 0 with the process.
 */
export function createMetrics({ version, tenantLabel, routes }: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });

  const runs = counter('compute_runs_total', 'Metered runs by how they ended.', ['tenant', 'state']);
  const seconds = counter('compute_seconds_total', 'Metered wall time of runs, each rounded up.', ['tenant']);
  const steps = counter('compute_step_steps_total', 'Finished steps by outcome.', ['tenant', 'outcome']);
  const phases = new Histogram({
    name: 'compute_step_phase_seconds',
    help: 'Time that the parts of a step take.',
    labelNames: ['phase'],
    buckets: PHASE_BUCKETS,
    registers,
  });
  const refusals = counter('compute_step_admission_refusals_total', 'Functions refused, by rule.', [
    'rule_id',
  ]);
  const quotaUsed = gauge(
    'compute_step_quota_used',
    'Used this month, in the whole ledger: aggregate by max.',
    ['tenant', 'meter'],
  );
  const quotaLimit = gauge(
    'compute_step_quota_limit',
    'Monthly cap, +Inf where there is none, in the whole ledger: aggregate by max.',
    ['tenant', 'meter'],
  );
  const permits = gauge('compute_step_permits_open', 'Permits that are open in this process.');
  const pool = gauge('compute_step_pool_containers', 'Containers of this instance by state.', ['state']);
  const queue = gauge('compute_step_queue_depth', 'Runs that wait for a container.');
  const running = gauge('compute_step_running', 'Runs that have a container.');
  const starts = counter('compute_step_container_starts_total', 'Container starts by outcome.', ['outcome']);
  const removals = counter(
    'compute_step_removal_failures_total',
    'Containers that could not be removed in time.',
  );
  const ready = gauge('compute_step_ready', 'Whether a readiness check passes: 1 or 0.', ['check']);
  const ledger = new Histogram({
    name: 'compute_step_ledger_seconds',
    help: 'Time that the ledger takes, by operation.',
    labelNames: ['op'],
    buckets: LEDGER_BUCKETS,
    registers,
  });
  const models = counter('compute_step_model_requests_total', 'Requests to model webhooks by outcome.', [
    'outcome',
  ]);
  const cache = counter('compute_step_function_cache_total', 'Function cache look-ups and changes.', [
    'outcome',
  ]);
  const http = new Histogram({
    name: 'compute_step_http_request_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: PHASE_BUCKETS,
    registers,
  });
  gauge('compute_step_build_info', 'Always 1; the version is in the label.', ['version']).set({ version }, 1);

  // Series of closed sets begin at 0, so that the first event is an increase that a rate can see.
  for (const rule_id of RULE_IDS) refusals.inc({ rule_id }, 0);
  for (const outcome of MODEL_OUTCOMES) models.inc({ outcome }, 0);
  for (const outcome of CONTAINER_START_OUTCOMES) starts.inc({ outcome }, 0);
  for (const outcome of FUNCTION_CACHE_OUTCOMES) cache.inc({ outcome }, 0);
  for (const state of CONTAINER_STATES) pool.set({ state }, 0);
  for (const check of READINESS_CHECKS) ready.set({ check }, 0);
  for (const phase of PHASES) phases.zero({ phase });
  for (const op of LEDGER_OPS) ledger.zero({ op });

  const served = new Set(routes);
  let known: ReadonlySet<string> = new Set();
  const label = (tenant: string): string =>
    tenantLabel === 'off' ? '' : known.has(tenant) ? tenant : 'other';

  const observer: StepObserver = {
    phase: (phase, ms) => phases.observe({ phase }, ms / 1000),
    stepFinished(step) {
      const tenant = label(step.tenant);
      steps.inc({ tenant, outcome: step.outcome });
      // A step that was not metered adds 0.
      const state = step.state === 'succeeded' ? 'succeeded' : 'failed';
      runs.inc({ tenant, state }, step.metered.computeRuns);
      seconds.inc({ tenant }, step.metered.computeSeconds);
    },
    admissionRefused: (rule_id) => refusals.inc({ rule_id }),
    modelRequest: (outcome) => models.inc({ outcome }),
    containerStart: (outcome) => starts.inc({ outcome }),
    removalFailed: () => removals.inc(),
    daemonActivity(started, removalFailures) {
      for (const outcome of CONTAINER_START_OUTCOMES) starts.inc({ outcome }, started[outcome]);
      removals.inc(removalFailures);
    },
    containers: (state, count) => pool.set({ state }, count),
    queueDepth: (count) => queue.set(count),
    running: (count) => running.set(count),
    permitsOpen: (count) => permits.set(count),
    quota(tenant, meter, used, limit) {
      // Without a tenant's name the gauges of all would be one, and say nothing.
      if (tenantLabel === 'all' && known.has(tenant)) {
        quotaUsed.set({ tenant, meter }, used);
        quotaLimit.set({ tenant, meter }, limit ?? Number.POSITIVE_INFINITY);
      }
    },
    readiness: ({ check, ok }) => ready.set({ check }, ok ? 1 : 0),
    ledgerOp: (op, took) => ledger.observe({ op }, took),
    functionCache: (outcome) => cache.inc({ outcome }),
    httpRequest(route, method, status, took) {
      const labels = {
        route: served.has(route) ? route : 'other',
        method: METHODS.has(method) ? method : 'other',
        status: Number.isInteger(status) && status >= 100 && status <= 599 ? String(status) : 'other',
      };
      http.observe(labels, took);
    },
    tenantsLoaded(tenants) {
      for (const tenant of known) {
        if (!tenants.includes(tenant)) {
          // Counters of a tenant that is gone stay until the restart, as a sum must not fall; quotas would mislead.
          for (const meter of QUOTA_METERS) {
            quotaUsed.remove({ tenant, meter });
            quotaLimit.remove({ tenant, meter });
          }
        }
      }
      known = new Set(tenants);
      for (const tenant of tenants.map(label)) {
        for (const state of STATES) runs.inc({ tenant, state }, 0);
        seconds.inc({ tenant }, 0);
        for (const outcome of WATCHED_OUTCOMES) steps.inc({ tenant, outcome }, 0);
      }
    },
    unexpected: () => {},
  };
  return { observer, contentType: registry.contentType, text: () => registry.metrics() };
}

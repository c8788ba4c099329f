import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createMetrics, type Metrics, type MetricsOptions } from '../../../src/telemetry/metrics.ts';
import { finishedStep } from './finished-step.ts';

function create(more: Partial<MetricsOptions> = {}): Metrics {
  const metrics = createMetrics({ version: '1.2.3', tenantLabel: 'all', routes: ['/v1/compute'], ...more });
  metrics.observer.tenantsLoaded(['acme', 'beta']);
  return metrics;
}

/** The samples of one metric, without its comment lines. */
async function samples(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe('the metrics', () => {
  test('have the names, types and labels that operators rely on', async () => {
    const metrics = create();
    const { observer } = metrics;
    observer.stepFinished(finishedStep());
    observer.quota('acme', 'compute_runs', 3, 10);
    observer.ledgerOp('open', 0.001);
    observer.httpRequest('/v1/compute', 'POST', 200, 0.01);
    const text = await metrics.text();
    const metric = (name: string, type: string, ...labels: string[]): void => {
      expect(text).toMatch(new RegExp(`^# HELP ${name} .*[.a-z]$`, 'm'));
      expect(text).toContain(`# TYPE ${name} ${type}\n`);
      const sample = type === 'histogram' ? `${name}_count` : name;
      const set = labels.length === 0 ? '' : `\\{${labels.map((label) => `${label}="[^"]+"`).join(',')}\\}`;
      expect(text).toMatch(new RegExp(`^${sample}${set} \\S+$`, 'm'));
    };
    metric('compute_runs_total', 'counter', 'tenant', 'state');
    metric('compute_seconds_total', 'counter', 'tenant');
    metric('compute_step_steps_total', 'counter', 'tenant', 'outcome');
    metric('compute_step_phase_seconds', 'histogram', 'phase');
    metric('compute_step_admission_refusals_total', 'counter', 'rule_id');
    metric('compute_step_quota_used', 'gauge', 'tenant', 'meter');
    metric('compute_step_quota_limit', 'gauge', 'tenant', 'meter');
    metric('compute_step_permits_open', 'gauge');
    metric('compute_step_pool_containers', 'gauge', 'state');
    metric('compute_step_queue_depth', 'gauge');
    metric('compute_step_running', 'gauge');
    metric('compute_step_container_starts_total', 'counter', 'outcome');
    metric('compute_step_removal_failures_total', 'counter');
    metric('compute_step_ready', 'gauge', 'check');
    metric('compute_step_ledger_seconds', 'histogram', 'op');
    metric('compute_step_model_requests_total', 'counter', 'outcome');
    metric('compute_step_function_cache_total', 'counter', 'outcome');
    metric('compute_step_http_request_seconds', 'histogram', 'route', 'method', 'status');
    metric('compute_step_build_info', 'gauge', 'version');
    metric('process_resident_memory_bytes', 'gauge');
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test('count what was metered, by how it ended', async () => {
    const metrics = create();
    const { observer } = metrics;
    const none = { computeRuns: 0, computeSeconds: 0 };
    observer.stepFinished(finishedStep());
    observer.stepFinished(
      finishedStep({ state: 'failed', outcome: 'timeout', metered: { computeRuns: 1, computeSeconds: 5 } }),
    );
    observer.stepFinished(
      finishedStep({
        state: 'refused',
        outcome: 'cancelled',
        metered: { computeRuns: 1, computeSeconds: 1 },
      }),
    );
    observer.stepFinished(
      finishedStep({ state: 'not_admitted', outcome: 'code_not_admitted', metered: none }),
    );
    observer.stepFinished(finishedStep({ state: 'refused', outcome: 'quota_exceeded', metered: none }));
    expect(await samples(metrics, 'compute_runs_total')).toEqual(
      expect.arrayContaining([
        'compute_runs_total{tenant="acme",state="succeeded"} 1',
        'compute_runs_total{tenant="acme",state="failed"} 2',
        'compute_runs_total{tenant="beta",state="failed"} 0',
      ]),
    );
    expect(await samples(metrics, 'compute_seconds_total')).toContain(
      'compute_seconds_total{tenant="acme"} 8',
    );
    expect(await samples(metrics, 'compute_step_steps_total')).toEqual(
      expect.arrayContaining([
        'compute_step_steps_total{tenant="acme",outcome="succeeded"} 1',
        'compute_step_steps_total{tenant="acme",outcome="timeout"} 1',
        'compute_step_steps_total{tenant="acme",outcome="quota_exceeded"} 1',
        'compute_step_steps_total{tenant="acme",outcome="code_not_admitted"} 1',
      ]),
    );
  });

  test('begin closed sets at 0, so that the first event is an increase', async () => {
    const metrics = create();
    const text = await metrics.text();
    for (const sample of [
      'compute_step_admission_refusals_total{rule_id="import"} 0',
      'compute_step_model_requests_total{outcome="timeout"} 0',
      'compute_step_container_starts_total{outcome="failed"} 0',
      'compute_step_ready{check="engine"} 0',
      'compute_step_phase_seconds_count{phase="model"} 0',
      'compute_step_ledger_seconds_count{op="started"} 0',
      'compute_step_steps_total{tenant="beta",outcome="succeeded"} 0',
    ]) {
      expect(text).toContain(`${sample}\n`);
    }
    metrics.observer.admissionRefused('import');
    metrics.observer.readiness({ check: 'engine', ok: true, detail: '' });
    metrics.observer.phase('model', 812);
    const after = await metrics.text();
    expect(after).toContain('compute_step_admission_refusals_total{rule_id="import"} 1\n');
    expect(after).toContain('compute_step_ready{check="engine"} 1\n');
    expect(after).toContain('compute_step_phase_seconds_sum{phase="model"} 0.812\n');
    metrics.observer.readiness({ check: 'engine', ok: false, detail: '' });
    expect(await samples(metrics, 'compute_step_ready')).toContain('compute_step_ready{check="engine"} 0');
  });

  test('begin the outcomes that an alert asks for at 0', async () => {
    const alerts = readFileSync(new URL('../../../deploy/prometheus/alerts.yaml', import.meta.url), 'utf8');
    const asked = new Set(
      [...alerts.matchAll(/compute_step_steps_total\{[^}]*outcome=~?"([^"]+)"/g)].flatMap(
        ([, outcomes = '']) => outcomes.split('|'),
      ),
    );
    expect(asked).toContain('overloaded');
    const text = await create().text();
    for (const outcome of asked) {
      expect(text).toContain(`compute_step_steps_total{tenant="acme",outcome="${outcome}"} 0\n`);
    }
  });

  test('are described, each with its type and labels', async () => {
    const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
    const described = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\| [^|]+ \| [^|]+ \|$/gm)].map(
      ([, name, type, labels = '']) => [
        name,
        type,
        [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
      ],
    );
    const metrics = create();
    metrics.observer.quota('acme', 'compute_runs', 3, 10);
    metrics.observer.httpRequest('/v1/compute', 'POST', 200, 0.01);
    const text = await metrics.text();
    const made = [...text.matchAll(/^# TYPE (compute_\w+) (\w+)$/gm)].map(([, name = '', type]) => {
      const sample = type === 'histogram' ? `${name}_count` : name;
      const [, labels = ''] = new RegExp(`^${sample}(?:\\{(.*)\\})? `, 'm').exec(text) ?? [];
      return [name, type, [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label)];
    });
    expect(described).toEqual(made);
  });

  test('end in _total only where they count', async () => {
    const types = [...(await create().text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    expect(types.length).toBeGreaterThan(30);
    expect(types.filter(([, name, type]) => name?.endsWith('_total') && type !== 'counter')).toEqual([]);
  });

  test('time phases from 1 ms to 60 s', async () => {
    const bounds = (await samples(create(), 'compute_step_phase_seconds_bucket'))
      .filter((line) => line.includes('phase="total"'))
      .map((line) => /le="([^"]+)"/.exec(line)?.[1]);
    expect(bounds[0]).toBe('0.001');
    expect(bounds.at(-2)).toBe('60');
  });

  test('take no label from outside the closed sets', async () => {
    const metrics = create();
    const { observer } = metrics;
    observer.stepFinished(finishedStep({ tenant: 'canary' }));
    observer.quota('canary', 'compute_runs', 1, 2);
    observer.httpRequest('/canary', 'CANARY', 99999, 0.1);
    const text = await metrics.text();
    expect(text).not.toMatch(/canary|99999/i);
    expect(text).toContain('compute_step_steps_total{tenant="other",outcome="succeeded"} 1\n');
    expect(text).toContain(
      'compute_step_http_request_seconds_count{route="other",method="other",status="other"} 1\n',
    );
  });

  test('show quotas of tenants that there are', async () => {
    const metrics = create();
    metrics.observer.quota('acme', 'compute_runs', 3, 10);
    metrics.observer.quota('beta', 'compute_seconds', 7, null);
    expect(await samples(metrics, 'compute_step_quota_used')).toEqual([
      'compute_step_quota_used{tenant="acme",meter="compute_runs"} 3',
      'compute_step_quota_used{tenant="beta",meter="compute_seconds"} 7',
    ]);
    expect(await samples(metrics, 'compute_step_quota_limit')).toEqual([
      'compute_step_quota_limit{tenant="acme",meter="compute_runs"} 10',
      'compute_step_quota_limit{tenant="beta",meter="compute_seconds"} +Inf',
    ]);
    metrics.observer.tenantsLoaded(['beta']);
    expect(await samples(metrics, 'compute_step_quota_used')).toEqual([
      'compute_step_quota_used{tenant="beta",meter="compute_seconds"} 7',
    ]);
    expect(await samples(metrics, 'compute_step_quota_limit')).toHaveLength(1);
  });

  test('name no tenant where the tenant label is off', async () => {
    const metrics = create({ tenantLabel: 'off' });
    metrics.observer.stepFinished(finishedStep());
    metrics.observer.quota('acme', 'compute_runs', 3, 10);
    const text = await metrics.text();
    expect(text).not.toContain('acme');
    expect(text).toContain('compute_runs_total{tenant="",state="succeeded"} 1\n');
    expect(await samples(metrics, 'compute_step_quota_used')).toEqual([]);
  });

  test('add what a sandbox daemon has done to what was done here', async () => {
    const metrics = create();
    metrics.observer.containerStart('ok', 1);
    metrics.observer.removalFailed();
    metrics.observer.daemonActivity({ ok: 3, failed: 2, timeout: 1, cancelled: 0 }, 4);
    expect(await samples(metrics, 'compute_step_container_starts_total')).toEqual([
      'compute_step_container_starts_total{outcome="ok"} 4',
      'compute_step_container_starts_total{outcome="failed"} 2',
      'compute_step_container_starts_total{outcome="timeout"} 1',
      'compute_step_container_starts_total{outcome="cancelled"} 0',
    ]);
    expect(await metrics.text()).toContain('compute_step_removal_failures_total 5\n');
  });

  test('of two services in one process do not meet', async () => {
    const one = create();
    const other = create();
    one.observer.removalFailed();
    one.observer.running(2);
    one.observer.queueDepth(3);
    one.observer.permitsOpen(4);
    one.observer.containers('ready', 5);
    one.observer.functionCache('hit');
    const text = await one.text();
    expect(text).toContain('compute_step_removal_failures_total 1\n');
    expect(text).toContain('compute_step_running 2\n');
    expect(text).toContain('compute_step_queue_depth 3\n');
    expect(text).toContain('compute_step_permits_open 4\n');
    expect(text).toContain('compute_step_pool_containers{state="ready"} 5\n');
    expect(text).toContain('compute_step_function_cache_total{outcome="hit"} 1\n');
    expect(await other.text()).toContain('compute_step_removal_failures_total 0\n');
  });
});

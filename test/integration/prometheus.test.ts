import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type PrometheusServer, promtool, startPrometheus } from '../fakes/prometheus.ts';
import {
  type Dashboard,
  interpolate,
  type Panel,
  queriesOf,
  selectorsOf,
} from '../fakes/prometheus-dashboard.ts';
import {
  RUNS,
  startScrapedService,
  TAKEN,
  takeFirstStep,
  takeOtherSteps,
} from '../fakes/prometheus-steps.ts';
import { type BuiltService, SHAPES } from '../fakes/running-service.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const PROMETHEUS = join(DEPLOY, 'prometheus');
const delivered = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

const dashboard = JSON.parse(delivered('grafana/dashboards/compute-step.json')) as Dashboard;
const queries = queriesOf(dashboard);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
const { groups } = parse(delivered('prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

describe('the alerts', () => {
  it('and the configuration that loads them are valid to promtool', () => {
    expect(promtool(['check', 'config', 'prometheus.yml'], { cwd: PROMETHEUS })).toBe('');
  });

  it('fire on the series that they are for, and not on others', () => {
    expect(promtool(['test', 'rules', 'alerts.test.yaml'], { cwd: PROMETHEUS })).toBe('');
  });

  it.each(alerts)('$alert has a severity, what is wrong and what to do', ({ labels, annotations }) => {
    expect(labels.severity).toMatch(/^(critical|warning)$/);
    expect(annotations.summary).toMatch(/\.$/);
    expect(annotations.description).toMatch(/^[A-Z].{60,}\.$/s);
  });

  it.each(alerts)('$alert is tested where it fires and where it does not', ({ alert }) => {
    const { tests } = parse(delivered('prometheus/alerts.test.yaml')) as {
      tests: { promql_expr_test: { expr: string; exp_samples: unknown[] }[] }[];
    };
    const samples = tests
      .flatMap(({ promql_expr_test }) => promql_expr_test)
      .filter(({ expr }) => expr.includes(`"${alert}"`))
      .map(({ exp_samples }) => exp_samples.length);
    expect(Math.max(...samples)).toBeGreaterThan(0);
    expect(Math.min(...samples)).toBe(0);
  });
});

describe('the dashboard', () => {
  /** Panels that every Grafana has. */
  const CORE = ['row', 'timeseries', 'stat', 'bargauge', 'table', 'heatmap', 'state-timeline'];

  it('needs no plugin and no identity of the Grafana that it was made in', () => {
    expect(dashboard).toMatchObject({ id: null, uid: 'compute-step', schemaVersion: 39 });
    expect(Object.keys(dashboard)).not.toContain('__inputs');
    expect(dashboard.panels.map(({ type }) => type).filter((type) => !CORE.includes(type))).toEqual([]);
  });

  it('can be narrowed to a tenant, a replica and a job', () => {
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual([
      'datasource',
      'job',
      'instance',
      'tenant',
    ]);
    for (const { panel, expr } of queries) {
      for (const selector of selectorsOf(expr)) {
        expect(selector, panel).toContain('job=~"$job", instance=~"$instance"');
        expect(selector.includes('tenant=~"$tenant"'), panel).toBe(TENANT_METRIC.test(selector));
      }
    }
  });

  it('gives each panel an id, a place of its own, a text and queries', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(
      panels.flatMap((panel, index) => panels.slice(index + 1).filter((other) => meet(panel, other))),
    ).toEqual([]);
    for (const { type, title, description, gridPos, targets, datasource } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      if (type !== 'row') {
        expect(description, title).toMatch(/\.$/);
        expect(datasource, title).toEqual({ type: 'prometheus', uid: '$'.concat('{datasource}') });
        expect(targets?.length, title).toBeGreaterThan(0);
        expect(new Set(targets?.map(({ refId }) => refId)).size, title).toBe(targets?.length);
        for (const { expr, instant, range } of targets ?? []) {
          expect(expr, title).not.toBe('');
          expect(instant, title).toBe(!range);
        }
      }
    }
  });

  it('is found where its provider looks, with a data source of the kind that it asks for', () => {
    const [provider] = parse(delivered('grafana/provisioning/dashboards/compute-step.yaml')).providers;
    expect(provider).toMatchObject({ type: 'file', options: { path: '/var/lib/grafana/dashboards' } });
    const [source] = parse(delivered('grafana/provisioning/datasources/prometheus.yaml')).datasources;
    expect(source).toMatchObject({ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true });
    expect(source.jsonData.timeInterval).toBe(
      parse(delivered('prometheus/prometheus.yml')).global.scrape_interval,
    );
  });
});

/** Metrics with a tenant in their labels. */
const TENANT_METRIC = /^compute_(runs_total|seconds_total|step_(steps_total|quota_used|quota_limit))\b/;

function meet({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

const ANSWERS = 'sum(compute_step_http_request_seconds_count{route="/v1/compute"})';

describe.each(SHAPES)('a Prometheus that scrapes the service, $shape,', ({ sandboxd }) => {
  let built: BuiltService;
  let prometheus: PrometheusServer;
  /** What Grafana puts in the place of its variables. */
  let values: Record<string, string>;

  beforeAll(async () => {
    built = await startScrapedService(sandboxd);
    await built.ready();
    const target = new URL(built.service.metrics).host;
    prometheus = await startPrometheus({
      config: delivered('prometheus/prometheus.yml'),
      rules: join(PROMETHEUS, 'alerts.yaml'),
      target,
    });
    const instance = target.replaceAll('.', '\\\\.');
    values = { job: 'compute-step', instance, tenant: '.*', __rate_interval: '10m', __range: '10m' };
    // Counters are seen at 0 before they are seen higher: an increase.
    await prometheus.until('up{job="compute-step"}', 1);
    await takeFirstStep(built);
    await prometheus.until(ANSWERS, 1);
    await takeOtherSteps(built);
    await prometheus.until(ANSWERS, 11);
  }, 300_000);

  afterAll(async () => {
    await prometheus?.stop();
    expect(await built?.stop()).toBe(0);
  });

  /** Sums by one label, without those of 0. */
  const sums = async (label: string, selector: string): Promise<Record<string, number | undefined>> =>
    Object.fromEntries(
      (await prometheus.query(`sum by (${label}) (${selector}) > 0`)).map(({ labels, values: [value] }) => [
        labels[label],
        value,
      ]),
    );

  it('finds nothing that promtool would have otherwise', async () => {
    expect(promtool(['check', 'metrics'], { input: await built.metrics() })).toBe('');
  });

  it('counts what was done, each ending by its code', async () => {
    expect(await sums('outcome', 'compute_step_steps_total{tenant="acme"}')).toEqual(TAKEN.outcomes);
    expect(await sums('state', 'compute_runs_total{tenant="acme"}')).toEqual(TAKEN.runs);
    expect(await sums('outcome', 'compute_step_model_requests_total')).toEqual(TAKEN.modelRequests);
    expect(await sums('rule_id', 'compute_step_admission_refusals_total')).toEqual(TAKEN.refusals);
    expect(await sums('outcome', 'compute_step_function_cache_total')).toEqual(TAKEN.cache);
    expect(await sums('status', 'compute_step_http_request_seconds_count{route="/v1/compute"}')).toEqual(
      TAKEN.statuses,
    );
  });

  it('sees the first event of each kind as an increase', async () => {
    for (const selector of [
      'compute_step_steps_total{outcome="succeeded"}',
      'compute_runs_total{state="failed"}',
      'compute_step_model_requests_total{outcome="failed"}',
      'compute_step_admission_refusals_total{rule_id="import"}',
      'compute_step_function_cache_total{outcome="hit"}',
      'compute_step_ledger_seconds_count{op="settle"}',
      'compute_step_phase_seconds_count{phase="queue"}',
    ]) {
      const [series] = await prometheus.query(`increase(${selector}[10m])`);
      expect(series?.values[0], selector).toBeGreaterThan(0);
    }
  });

  it('agrees with the ledger', async () => {
    const { json } = await built.get('/v1/usage');
    expect(json.compute_runs).toMatchObject({ used: RUNS, limit: RUNS });
    await prometheus.until('compute_seconds_total{tenant="acme"}', json.compute_seconds.used);
    await prometheus.until('sum(compute_runs_total{tenant="acme"})', RUNS);
    await prometheus.until('compute_step_quota_used{tenant="acme", meter="compute_runs"}', RUNS);
    await prometheus.until('compute_step_quota_limit{tenant="acme", meter="compute_runs"}', RUNS);
    await prometheus.until('compute_step_quota_limit{tenant="acme", meter="compute_seconds"}', Infinity);
  });

  it('sees the containers come and go', async () => {
    await prometheus.until(
      'sum(compute_step_running + compute_step_queue_depth + compute_step_permits_open)',
      0,
    );
    await prometheus.until('compute_step_pool_containers{state="ready"} > bool 0', 1);
    const [ok] = await prometheus.query('compute_step_container_starts_total{outcome="ok"}');
    expect(ok?.values[0]).toBeGreaterThanOrEqual(RUNS);
  });

  it('is told by the alerts that the quota is spent, and nothing else', async () => {
    await prometheus.until('count(ALERTS{alertstate="firing"})', 1);
    expect(await prometheus.query('ALERTS{alertstate="firing"}')).toMatchObject([
      { labels: { alertname: 'ComputeStepQuotaNearlySpent', tenant: 'acme', meter: 'compute_runs' } },
    ]);
    const { groups: loaded } = (await prometheus.api('rules')) as {
      groups: { rules: { name: string; health: string; lastError?: string }[] }[];
    };
    expect(loaded.flatMap(({ rules }) => rules)).toMatchObject(
      alerts.map(({ alert }) => ({ name: alert, health: 'ok' })),
    );
  });

  it.each(alerts)('has every series that $alert asks for', async ({ expr }) => {
    expect(selectorsOf(expr).length).toBeGreaterThan(0);
    for (const selector of selectorsOf(expr)) {
      expect((await prometheus.query(selector)).length, selector).toBeGreaterThan(0);
    }
  });

  it.each(queries)('has data for the panel $panel', async ({ expr, instant }) => {
    const asked = interpolate(expr, values);
    const series = await (instant ? prometheus.query(asked) : prometheus.queryRange(asked));
    // NaN is a quantile of nothing.
    expect(
      series.flatMap((one) => one.values).filter((value) => !Number.isNaN(value)).length,
      asked,
    ).toBeGreaterThan(0);
  });

  it('has values for the dashboard’s variables', async () => {
    const found = await Promise.all(
      dashboard.templating.list
        .filter(({ type }) => type === 'query')
        .map(async ({ name, definition = '' }) => {
          const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
          const match = interpolate(selector, values);
          return [name, await prometheus.api(`label/${label}/values`, { 'match[]': match })];
        }),
    );
    expect(Object.fromEntries(found)).toEqual({
      job: ['compute-step'],
      instance: [new URL(built.service.metrics).host],
      tenant: ['acme'],
    });
  });

  it('has every metric of the service on the dashboard or in an alert', async () => {
    const shown = [...queries, ...alerts].flatMap(({ expr }) => selectorsOf(expr)).join('\n');
    const metrics = [...(await built.metrics()).matchAll(/^# TYPE (compute_\S+) (\S+)$/gm)];
    expect(metrics.length).toBeGreaterThan(18);
    for (const [, name, type] of metrics) {
      expect(shown).toContain(type === 'histogram' ? `${name}_bucket{` : `${name}{`);
    }
  });
});

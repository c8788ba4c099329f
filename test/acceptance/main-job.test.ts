import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_STEPS } from '../../examples/demo/steps.ts';
import { ComputationSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { labelledContainers } from '../fakes/containers.ts';
import { type BuiltService, SHAPES, startBuiltService } from '../fakes/running-service.ts';

/** What other tests left on the engine: services that they killed, whose ended containers are swept later. */
const nameOf = (line: string) => line.split(' ', 1)[0] ?? '';
const EARLIER = new Set(labelledContainers().map(nameOf));

const checkComputation = faultChecker(ComputationSchema);
const echo = 'def compute(data):\n    return data["x"]\n';

describe.each(SHAPES)('one compute step over HTTP, on a real container, $shape', ({ sandboxd }) => {
  let built: BuiltService;
  beforeAll(async () => {
    built = await startBuiltService({
      sandboxd,
      answer: ({ user }) => DEMO_STEPS.find((step) => user.includes(step.instruction))?.reply ?? echo,
    });
    await built.ready();
  });
  afterAll(async () => {
    expect(await built.stop()).toBe(0);
  });

  it.each([
    '9007199254740993',
    String(2n ** 200n),
    `1${'0'.repeat(3999)}`,
    '-9223372036854775809',
    '0.1',
    '1e-07',
    '"é\\u0000😀"',
    '[true,false,null,{"a":[],"b":{}}]',
  ])('brings %s back as it was', async (text) => {
    const body = `{"code":${JSON.stringify(echo)},"sources":[{"name":"x","result":${text}}]}`;
    const { status, text: answer, json } = await built.post('/v1/compute/run', body);
    expect(status).toBe(200);
    expect(json.state).toBe('succeeded');
    expect(checkComputation(json)).toEqual([]);
    expect(answer).toContain(`"result":${text},"result_type"`);
  });

  it.each([
    ['def compute(data):\n    while True:\n        pass\n', 'timeout'],
    ['def compute(data):\n    return len(bytearray(10**9))\n', 'out_of_memory'],
    ['def compute(data):\n    return "x" * (5 * 1024 * 1024)\n', 'output_too_large'],
    ['def compute(data):\n    return {1, 2}\n', 'result_not_json'],
    ['def compute(data):\n    return float("nan")\n', 'result_not_json'],
    ['def compute(data):\n    return compute(data)\n', 'exception'],
  ])('names the limit or the fault that ended %j', async (code, failure) => {
    const { json } = await built.post('/v1/compute/run', {
      code,
      sources: [{ result: 1 }],
      limits: { wall_seconds: 3 },
    });
    expect(json).toMatchObject({ state: 'failed', failure: { code: failure }, metered: { compute_runs: 1 } });
  });

  it('shows no value of the data to the model, the log, the metrics or the ledger', async () => {
    const sources = ['orders', 'customers'].map((name) => ({
      name,
      result_json: readFileSync(
        fileURLToPath(new URL(`../../examples/demo/${name}.json`, import.meta.url)),
        'utf8',
      ),
    }));
    const states: string[] = [];
    for (const step of DEMO_STEPS) {
      const { json } = await built.post('/v1/compute', {
        step: step.instruction,
        result_type: step.resultType,
        sources: sources.filter(({ name }) => step.sources.includes(name as 'orders')),
      });
      states.push(json.failure?.code ?? json.state);
    }
    expect(states).toEqual(['succeeded', 'code_not_admitted', 'exception']);

    const sinks: Record<string, string> = {
      webhook: built.model.requests
        .map(({ body, rawHeaders }) => `${body} ${rawHeaders.join(' ')}`)
        .join('\n'),
      log: [...built.log, ...(built.sandboxd?.log ?? [])].join('\n'),
      metrics: await built.metrics(),
      ledger: built.ledgerBytes().toString('latin1'),
    };
    const values = [...new Set(sources.flatMap(({ result_json }) => stringsIn(JSON.parse(result_json))))]
      // Words that the instructions and the templates hold too, or that any text may.
      .filter(
        (value) => value.length >= 6 && !/^(shipped|refunded|cancelled|standard|express|silver)$/.test(value),
      );
    expect(values.length).toBeGreaterThan(100);
    for (const [sink, text] of Object.entries(sinks)) {
      expect(text.length, sink).toBeGreaterThan(100);
      expect(
        values.filter((value) => text.includes(value)),
        sink,
      ).toEqual([]);
    }
    // The search can find something: the field names do travel.
    expect(sinks.webhook).toContain('unit_price');
  });

  it('counts what ran in the ledger and in the metrics alike', async () => {
    const usage = (await built.get('/v1/usage')).json;
    const text = await built.metrics();
    const counted = [...text.matchAll(/^compute_runs_total\{tenant="acme",state="\w+"\} (\d+)$/gm)];
    expect(counted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(usage.compute_runs.used);
    expect(usage.open_permits).toBe(0);
    expect(Object.values<number>(usage.outcomes).reduce((sum, count) => sum + count, 0)).toBe(
      usage.compute_runs.used,
    );
  });
});

describe('a service without an engine', () => {
  it('is not ready by name, refuses before the model is asked, counts nothing and ends cleanly', async () => {
    const built = await startBuiltService({ env: { DOCKER_HOST: 'unix:///nonexistent/docker.sock' } });
    const ready = await built.get('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.json.failing).toContain('engine');
    expect((await built.get('/healthz')).status).toBe(200);
    const answer = await built.post('/v1/compute', { step: 'x', sources: [{ result: 1 }] });
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({ code: 'sandbox_unavailable', retryable: true });
    expect(answer.text).not.toContain('/nonexistent');
    expect(built.model.requests).toHaveLength(0);
    expect((await built.get('/v1/usage')).json.compute_runs.used).toBe(0);
    expect(await built.stop()).toBe(0);
  });
});

describe('a tenant with a quota of two runs', () => {
  it('gets 429 for the third step, and the webhook saw two requests', async () => {
    const built = await startBuiltService({ tenant: { quotas: { compute_runs: 2, compute_seconds: null } } });
    await built.ready();
    const step = { step: 'x', sources: [{ name: 'x', result: 1 }] };
    expect((await built.post('/v1/compute', step)).json.state).toBe('succeeded');
    expect((await built.post('/v1/compute', step)).json.state).toBe('succeeded');
    const third = await built.post('/v1/compute', step);
    expect(third.status).toBe(429);
    expect(third.json).toMatchObject({ code: 'quota_exceeded', meter: 'compute_runs', used: 2, limit: 2 });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(built.model.requests).toHaveLength(2);
    await built.stop();
  });
});

describe('after all of it', () => {
  it('leaves no container behind', () => {
    expect(labelledContainers().filter((line) => !EARLIER.has(nameOf(line)))).toEqual([]);
  });
});

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

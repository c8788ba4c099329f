import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { propagation, trace } from '@opentelemetry/api';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { exportFault } from '../../../src/telemetry/reporting-exporter.ts';
import { createTracing, type TracingBounds } from '../../../src/telemetry/traces.ts';
import type { Tracing } from '../../../src/telemetry/tracing.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../fakes/otlp-receiver.ts';
import { finishedStep } from './finished-step.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const REQUEST = {
  id: '0197aaaa-0000-7000-8000-000000000000',
  tenant: 'acme',
  method: 'POST',
  route: '/v1/compute',
};

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function receiver(answer?: Parameters<typeof startOtlpReceiver>[0]): Promise<OtlpReceiver> {
  const started = await startOtlpReceiver(answer);
  closing.push(started);
  return started;
}

/** Tracing to an endpoint, and what it told of lost spans. */
function tracingTo(endpoint: string, more: { bounds?: Partial<TracingBounds>; headers?: object } = {}) {
  const lost: [string, number][] = [];
  const tracing = createTracing({
    endpoint,
    headers: { ...more.headers } as Record<string, string>,
    version: '1.2.3',
    clock: systemClock,
    lost: (reason, spans) => lost.push([reason, spans]),
    bounds: { delayMs: 20, ...more.bounds },
  });
  return { tracing, lost };
}

/** One request from beginning to end, with a model attempt in it; answers the two traceparents it had. */
function oneRequest(tracing: Tracing, traceparent: string | null = null): readonly [string, string | null] {
  const span = tracing.begin(REQUEST, traceparent);
  const watch = span.watch();
  const model = watch.began('model', 1);
  model.ended('ok');
  watch.finished(finishedStep());
  span.answered(200);
  return [span.traceparent, model.traceparent];
}

describe('traces', () => {
  it('go to v1/traces below the endpoint as JSON, with headers, and say which service they are of', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(`${to.endpoint}/otlp/`, { headers: { authorization: 'Bearer t' } });
    oneRequest(tracing);
    await tracing.close();
    expect(to.exports[0]).toMatchObject({
      path: '/otlp/v1/traces',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
    });
    expect(to.resource()).toMatchObject({
      'service.name': 'compute-step',
      'service.version': '1.2.3',
      'telemetry.sdk.name': 'opentelemetry',
    });
  });

  it('end once where the caller has hung up before the step began', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const span = tracing.begin(REQUEST, null);
    span.answered(null);
    const watch = span.watch();
    watch.began('prompt').ended('ok');
    watch.finished(finishedStep());
    await tracing.close();
    expect(to.spans().map(({ name }) => name)).toEqual(['POST /v1/compute']);
  });

  it('go on from the trace of the caller, and give the model its own span as parent', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const [own, models] = oneRequest(tracing, `00-${TRACE}-${PARENT}-01`);
    await tracing.close();
    const [model, server] = to.spans();
    expect(server).toMatchObject({ name: 'POST /v1/compute', traceId: TRACE, parentSpanId: PARENT });
    expect(model).toMatchObject({ name: 'model', traceId: TRACE, parentSpanId: server?.spanId });
    expect(own).toBe(`00-${TRACE}-${server?.spanId}-01`);
    expect(models).toBe(`00-${TRACE}-${model?.spanId}-01`);
  });

  it('begin with the request where the caller has none', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    oneRequest(tracing);
    oneRequest(tracing);
    await tracing.close();
    const servers = to.spans().filter(({ kind }) => kind === 2);
    expect(servers.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined]);
    expect(new Set(servers.map(({ traceId }) => traceId)).size).toBe(2);
  });

  it('are not recorded where the caller’s trace is not, and the flag is passed on', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const [own, models] = oneRequest(tracing, `00-${TRACE}-${PARENT}-00`);
    await tracing.close();
    expect(to.exports).toEqual([]);
    for (const traceparent of [own, models]) {
      expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-(?!${PARENT})[0-9a-f]{16}-00$`));
    }
  });

  it('tell of a step its ids, codes, counts and digests, and nothing else', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const span = tracing.begin(REQUEST, null);
    const watch = span.watch();
    watch.began('admission', 2).ended('not_admitted', { rule_id: 'import', line: 3 });
    watch.finished(
      finishedStep({ state: 'not_admitted', outcome: 'code_not_admitted', ruleId: 'import', note: 'canary' }),
    );
    span.answered(200);
    await tracing.close();
    const [admission, server] = to.spans();
    expect(admission?.attributes).toEqual({
      'compute_step.outcome': 'not_admitted',
      'compute_step.attempt': 2,
      'compute_step.rule_id': 'import',
    });
    expect(server?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/compute',
      'http.response.status_code': 200,
      'url.path': '/v1/compute',
      'url.scheme': 'http',
      'compute_step.id': REQUEST.id,
      'compute_step.tenant': 'acme',
      'compute_step.state': 'not_admitted',
      'compute_step.outcome': 'code_not_admitted',
      'compute_step.rule_id': 'import',
      'compute_step.function.source': 'model',
      'compute_step.attempts': 1,
      'compute_step.compute_runs': 1,
      'compute_step.compute_seconds': 2,
      'compute_step.prompt_pack.digest': `sha256:${'a'.repeat(64)}`,
      'compute_step.code.sha256': 'b'.repeat(64),
      'compute_step.image': `sha256:${'c'.repeat(64)}`,
    });
    // A refused function is no error of anybody.
    expect([admission?.status.code, server?.status.code]).toEqual([0, 0]);
  });

  it.each([
    ['a model that fails', 'model', 'model_failed', 2],
    ['a run that raises', 'sandbox', 'exception', 2],
    ['a full queue', 'queue', 'overloaded', 2],
    ['a reply without a function', 'model', 'no_function', 0],
  ] as const)('mark %s by its code, without a message', async (_what, phase, outcome, status) => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const watch = tracing.begin(REQUEST, null).watch();
    watch.began(phase, 1).ended(outcome);
    await tracing.close();
    const [span] = to.spans();
    expect(span?.status).toEqual({ code: status });
    expect(span?.attributes['error.type']).toBe(status === 2 ? outcome : undefined);
    expect(span?.events).toEqual([]);
  });

  it.each([
    ['a 503', 'overloaded', 503, 2, 'overloaded'],
    ['a 504 after a stream began with 200', 'deadline_exceeded', 200, 2, 'deadline_exceeded'],
    ['a caller’s mistake', 'invalid_request', 400, 0, undefined],
    ['a caller who hung up', 'cancelled', null, 0, undefined],
  ] as const)('call %s an error of the service or not', async (_what, outcome, status, code, type) => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const span = tracing.begin(REQUEST, null);
    span.watch().finished(finishedStep({ state: 'refused', outcome }));
    span.answered(status);
    await tracing.close();
    const [server] = to.spans();
    expect(server?.status).toEqual({ code });
    expect(server?.attributes['error.type']).toBe(type);
    expect(server?.attributes['http.response.status_code']).toBe(status ?? undefined);
  });

  it('keep a request’s span open until its step has ended, whoever hung up before', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    const span = tracing.begin(REQUEST, null);
    const watch = span.watch();
    span.answered(null);
    watch.began('sandbox').ended('cancelled');
    watch.finished(finishedStep({ outcome: 'cancelled' }));
    await tracing.close();
    const [sandbox, server] = to.spans();
    expect(server?.name).toBe('POST /v1/compute');
    expect(server?.attributes['compute_step.outcome']).toBe('cancelled');
    expect(server?.endNs).toBeGreaterThanOrEqual(sandbox?.endNs as bigint);
  });

  it('register nothing globally', async () => {
    const to = await receiver();
    const { tracing } = tracingTo(to.endpoint);
    oneRequest(tracing);
    expect(trace.getTracer('x').startSpan('x').isRecording()).toBe(false);
    expect(propagation.fields()).toEqual([]);
    expect(Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))).toBeUndefined();
    await tracing.close();
    expect(to.spans()).toHaveLength(2);
  });
});

describe('a receiver of traces', () => {
  it.each([
    ['that refuses', (response: ServerResponse) => response.writeHead(500).end('canary'), 'HTTP 500', 5000],
    [
      'that is at its limit',
      (response: ServerResponse) => response.writeHead(503, { 'retry-after': '60' }).end(),
      'HTTP 429, 502, 503 or 504',
      5000,
    ],
    ['that does not answer', () => {}, 'no answer in time', 300],
  ])('%s is told of once, by a name', async (_what, answer, reason, exportMs) => {
    const to = await receiver(answer);
    const { tracing, lost } = tracingTo(to.endpoint, { bounds: { exportMs } });
    oneRequest(tracing);
    await expect.poll(() => lost.length, { timeout: 10_000 }).toBe(1);
    oneRequest(tracing);
    await expect.poll(() => to.exports.length, { timeout: 10_000 }).toBeGreaterThan(1);
    await tracing.close();
    expect(lost).toEqual([[reason, 2]]);
  });

  it('that stays down is told of again later, with all that was lost since', async () => {
    let nowNs = 0n;
    const to = await receiver((response) => response.writeHead(500).end());
    const lost: number[] = [];
    const tracing = createTracing({
      endpoint: to.endpoint,
      headers: {},
      version: '1',
      clock: { now: () => new Date(0), monotonicNs: () => nowNs },
      lost: (_reason, spans) => lost.push(spans),
      bounds: { delayMs: 20 },
    });
    for (const minutes of [0n, 5n, 9n, 10n]) {
      nowNs = minutes * 60_000_000_000n;
      const before = to.exports.length;
      oneRequest(tracing);
      await expect.poll(() => to.exports.length, { timeout: 10_000 }).toBe(before + 1);
      if (minutes === 0n || minutes === 10n) {
        await expect.poll(() => lost.length, { timeout: 10_000 }).toBe(minutes === 0n ? 1 : 2);
      } else {
        // Its answer is in before the next one is asked.
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
    await tracing.close();
    expect(lost).toEqual([2, 6]);
  });

  it('that is not there is told of by the code of the system', async () => {
    const gone = await startOtlpReceiver();
    await gone.close();
    const { tracing, lost } = tracingTo(gone.endpoint, { bounds: { exportMs: 300 } });
    oneRequest(tracing);
    await expect.poll(() => lost.length, { timeout: 10_000 }).toBe(1);
    expect(lost).toEqual([['ECONNREFUSED', 2]]);
    await tracing.close();
  });

  it('that is slow has a bounded queue waiting for it, and the rest is dropped', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const to = await receiver((response) => {
      void released.then(() => response.writeHead(200).end());
    });
    const { tracing } = tracingTo(to.endpoint, {
      bounds: { queuedSpans: 20, batchSpans: 10, exportMs: 20_000, closeMs: 20_000 },
    });
    for (let i = 0; i < 500; i += 1) {
      oneRequest(tracing);
    }
    release();
    await tracing.close();
    // The batch under way and a full queue, of a thousand.
    expect(to.spans()).toHaveLength(30);
  });

  it('that does not answer keeps the service from ending for a bounded time', async () => {
    const to = await receiver(() => {});
    const { tracing } = tracingTo(to.endpoint, { bounds: { exportMs: 600_000, closeMs: 100 } });
    oneRequest(tracing);
    await tracing.close();
    expect(to.exports.length).toBeLessThanOrEqual(1);
  });
});

describe('the name of an export’s fault', () => {
  it.each([
    [Object.assign(new Error('canary'), { code: 401, data: 'canary' }), 'HTTP 401'],
    [Object.assign(new Error('canary'), { code: 'EAI_AGAIN' }), 'EAI_AGAIN'],
    [Object.assign(new Error('canary'), { code: 'canary' }), 'unknown'],
    [new Error('canary'), 'unknown'],
    [undefined, 'unknown'],
  ])('is never the words of it', (error, name) => {
    expect(exportFault(error)).toBe(name);
  });
});

describe('the SDK', () => {
  const run = promisify(execFile);
  /** Which files of the SDK a fresh process has loaded after importing a module of the service. */
  const loadedBy = async (path: string): Promise<string[]> => {
    const script = `
      import { createRequire } from 'node:module';
      await import(${JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href)});
      const loaded = Object.keys(createRequire(import.meta.url).cache);
      // The API alone is imported by the library of the metrics too.
      console.log(JSON.stringify(loaded.filter((name) => /@opentelemetry\\/(?!api\\/)/.test(name))));
      process.exit();`;
    const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
    return JSON.parse(stdout) as string[];
  };

  it('is loaded where traces are asked for, and nowhere else', async () => {
    expect(await loadedBy('telemetry/traces.ts')).not.toEqual([]);
    expect(await loadedBy('compose.ts')).toEqual([]);
  }, 120_000);

  it('takes nothing from variables of its own but what the table of settings has', async () => {
    const to = await receiver();
    const script = `
      const { createTracing } = await import(${JSON.stringify(new URL('../../../src/telemetry/traces.ts', import.meta.url).href)});
      const clock = { now: () => new Date(), monotonicNs: () => process.hrtime.bigint() };
      const tracing = createTracing({ endpoint: ${JSON.stringify(to.endpoint)}, headers: { 'x-a': 'ours' }, version: '1', clock, lost: () => {} });
      const span = tracing.begin({ id: 'i', tenant: 't', method: 'POST', route: '/v1/compute' }, null);
      span.answered(200);
      await tracing.close();
      process.exit();`;
    await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      env: {
        ...process.env,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/elsewhere',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-a=theirs',
        OTEL_TRACES_SAMPLER: 'always_off',
        OTEL_SERVICE_NAME: 'another',
        OTEL_RESOURCE_ATTRIBUTES: 'canary=1',
        OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
        OTEL_BSP_MAX_QUEUE_SIZE: '0',
      },
    });
    expect(to.exports[0]?.headers).toMatchObject({ 'x-a': 'ours' });
    expect(to.exports[0]?.headers['content-encoding']).toBeUndefined();
    expect(to.resource()).toMatchObject({ 'service.name': 'compute-step' });
    expect(to.resource().canary).toBeUndefined();
    expect(Object.keys(to.spans()[0]?.attributes ?? {})).toHaveLength(7);
  }, 120_000);
});

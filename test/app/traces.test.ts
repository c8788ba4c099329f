import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createTracing } from '../../src/telemetry/traces.ts';
import type { Tracing } from '../../src/telemetry/tracing.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../fakes/otlp-receiver.ts';
import { fakeSandbox, returned } from '../fakes/sandbox.ts';
import { answersInTurn } from '../fakes/scripted-model.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../fakes/service.ts';

const GOOD = 'def compute(data):\n    return 42\n';
const REFUSED = 'def compute(data):\n    import socket\n    return 1\n';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CALLER = `00-${TRACE}-${PARENT}-01`;
const step = { step: 'sum canary-step', sources: [{ name: 'orders', result: ['canary-value'] }] };

let service: TestService;
let receiver: OtlpReceiver;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The API with traces to a receiver of its own. */
async function traced(options: TestServiceOptions = {}): Promise<void> {
  receiver = await startOtlpReceiver();
  closing.push(receiver.close);
  const tracing = createTracing({
    endpoint: receiver.endpoint,
    headers: {},
    version: '0.0.0-test',
    clock: systemClock,
    lost: () => {},
    bounds: { delayMs: 20 },
  });
  closing.push(tracing.close);
  await start({ ...options, tracing });
}

async function start(options: TestServiceOptions): Promise<void> {
  service = await startTestService(options);
  closing.push(service.close);
}

/** The spans of `requests` requests, once they have all arrived. */
async function spans(requests = 1): Promise<ReceivedSpan[]> {
  const servers = () => receiver.spans().filter(({ kind }) => kind === 2);
  await expect.poll(() => servers().length, { timeout: 10_000 }).toBe(requests);
  return receiver.spans();
}

const named = (all: readonly ReceivedSpan[], name: string) => all.filter((span) => span.name === name);
const webhookTraceparents = () => service.model.requests.map(({ headers }) => headers.traceparent);

describe('a traced step', () => {
  it('is a request with its phases as children, in their order, all in the trace of the caller', async () => {
    await traced();
    const { json } = await service.post('/v1/compute', step, { traceparent: CALLER });
    const all = await spans();
    const [server] = named(all, 'POST /v1/compute');
    expect(server).toMatchObject({ kind: 2, traceId: TRACE, parentSpanId: PARENT });
    expect(server?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'compute_step.id': json.id,
      'compute_step.tenant': 'acme',
      'compute_step.state': 'succeeded',
      'compute_step.outcome': 'succeeded',
      'compute_step.code.sha256': json.code_sha256,
      'compute_step.prompt_pack.digest': json.prompt_pack_digest,
    });
    const phases = all.filter((span) => span !== server);
    expect(phases.map(({ name }) => name)).toEqual(['prompt', 'model', 'admission', 'queue', 'sandbox']);
    let endedNs = server?.startNs as bigint;
    for (const phase of phases) {
      expect(phase).toMatchObject({ traceId: TRACE, parentSpanId: server?.spanId });
      expect(phase.startNs).toBeGreaterThanOrEqual(endedNs);
      endedNs = phase.endNs;
    }
    expect(server?.endNs).toBeGreaterThanOrEqual(endedNs);
  });

  it('gives the webhook the span of its attempt as parent, and the log the trace', async () => {
    await traced({ answer: answersInTurn(REFUSED, GOOD) });
    await service.post('/v1/compute', step, { traceparent: CALLER });
    const models = named(await spans(), 'model');
    expect(models.map(({ kind, attributes }) => [kind, attributes['compute_step.attempt']])).toEqual([
      [3, 1],
      [3, 2],
    ]);
    expect(webhookTraceparents()).toEqual(models.map(({ spanId }) => `00-${TRACE}-${spanId}-01`));
    expect(service.finished[0]?.traceId).toBe(TRACE);
    const [first, second] = named(receiver.spans(), 'admission');
    expect(first?.attributes).toMatchObject({
      'compute_step.outcome': 'not_admitted',
      'compute_step.rule_id': 'import',
      'compute_step.attempt': 1,
    });
    expect(second?.attributes).toMatchObject({ 'compute_step.outcome': 'ok', 'compute_step.attempt': 2 });
  });

  it('begins a trace where the caller has none, or none that is valid, and forwards nothing else', async () => {
    await traced();
    const headers = {
      traceparent: `00-${'0'.repeat(32)}-${PARENT}-01`,
      tracestate: 'a=b',
      baggage: 'user=canary',
    };
    await service.post('/v1/compute', step, headers);
    const [server] = named(await spans(), 'POST /v1/compute');
    expect(server?.parentSpanId).toBeUndefined();
    expect(server?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(service.finished[0]?.traceId).toBe(server?.traceId);
    const sent = service.model.requests[0]?.headers;
    expect(sent?.traceparent).toContain(server?.traceId);
    expect([sent?.tracestate, sent?.baggage]).toEqual([undefined, undefined]);
  });

  it('is told as it ends, whichever way', async () => {
    const sandbox = fakeSandbox();
    await traced({ sandbox, tenant: { quotas: { compute_runs: 3, compute_seconds: null } } });
    const { usage } = returned('1') as Extract<ReturnType<typeof returned>, { kind: 'returned' }>;
    const ends = [
      () => ({ kind: 'killed', reason: 'timeout', usage }) as const,
      () =>
        ({ kind: 'raised', exception: 'KeyError', line: 2, text: 'canary', printed: null, usage }) as const,
      () => ({ kind: 'notStarted', reason: 'overloaded', detail: 'full' }) as const,
    ];
    for (const end of ends) {
      sandbox.answer = end;
      await service.post('/v1/compute', step);
    }
    sandbox.answer = () => returned('1');
    await service.post('/v1/compute', step);
    expect((await service.post('/v1/compute', step)).status).toBe(429);
    await service.post('/v1/compute', '{');
    const servers = named(await spans(6), 'POST /v1/compute');
    expect(
      servers.map(({ attributes, status }) => [attributes['compute_step.outcome'], status.code]),
    ).toEqual([
      ['timeout', 0],
      ['exception', 0],
      ['overloaded', 2],
      ['succeeded', 0],
      ['quota_exceeded', 0],
      // It came to no step.
      [undefined, 0],
    ]);
    expect(servers.at(-1)?.attributes['http.response.status_code']).toBe(400);
  });

  it('of a draft, a run or a verdict has the phases that it came to', async () => {
    await traced();
    await service.post('/v1/compute/draft', step);
    await service.post('/v1/compute/run', { code: GOOD, sources: [{ result: 1 }] });
    await service.post('/v1/compute/admit', { code: GOOD });
    const all = await spans(3);
    const phasesOf = (route: string) => {
      const [server] = named(all, `POST ${route}`);
      return all.filter(({ parentSpanId }) => parentSpanId === server?.spanId).map(({ name }) => name);
    };
    expect(phasesOf('/v1/compute/draft')).toEqual(['prompt', 'model', 'admission']);
    expect(phasesOf('/v1/compute/run')).toEqual(['admission', 'queue', 'sandbox']);
    expect(phasesOf('/v1/compute/admit')).toEqual([]);
  });

  it('whose caller hung up ends with what became of it', async () => {
    await traced({ answer: () => ({ hang: true }) });
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const hangUp = new AbortController();
    const call = fetch(`${url}/v1/compute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(step),
      signal: hangUp.signal,
    }).catch((error: Error) => error.name);
    await expect.poll(() => service.model.requests.length, { timeout: 10_000 }).toBe(1);
    hangUp.abort();
    expect(await call).toBe('AbortError');
    const [server] = named(await spans(), 'POST /v1/compute');
    expect(server?.attributes['compute_step.outcome']).toBe('cancelled');
    expect(server?.attributes['http.response.status_code']).toBeUndefined();
  });

  it('makes events and spans alike', async () => {
    await traced();
    const { text } = await service.post('/v1/compute', step, { accept: 'text/event-stream' });
    expect(text).toContain('event: computation');
    expect((await spans()).map(({ name }) => name)).toEqual([
      'prompt',
      'model',
      'admission',
      'queue',
      'sandbox',
      'POST /v1/compute',
    ]);
  });

  it('sends nothing of what it is about', async () => {
    await traced({ answer: answersInTurn(REFUSED, GOOD) });
    await service.post('/v1/compute', step, { traceparent: CALLER, baggage: 'canary' });
    await service.post('/v1/compute', { ...step, result_type: 'string' });
    await spans(2);
    const bytes = Buffer.concat(receiver.exports.map(({ body }) => body)).toString();
    for (const content of ['canary', 'orders', 'socket', 'def ', service.key, 'sum']) {
      expect(bytes).not.toContain(content);
    }
  });
});

describe('without traces', () => {
  it('the caller’s traceparent is passed on as it is and is in the log, and a wrong one is not', async () => {
    await start({});
    await service.post('/v1/compute', step, { traceparent: CALLER });
    await service.post('/v1/compute', step, { traceparent: `${CALLER}x` });
    expect(webhookTraceparents()).toEqual([CALLER, undefined]);
    expect(service.finished.map(({ traceId }) => traceId)).toEqual([TRACE, null]);
  });
});

describe('tracing that fails', () => {
  it('changes no step, and is told of', async () => {
    const broken = (): never => {
      throw new Error('broken');
    };
    let answered = 0;
    const tracings: Tracing[] = [
      { begin: broken, close: async () => {} },
      {
        begin: () => ({
          traceparent: CALLER,
          watch: () => ({ began: broken, finished: broken }),
          answered: () => {
            answered += 1;
            broken();
          },
        }),
        close: async () => {},
      },
    ];
    for (const tracing of tracings) {
      await start({ tracing });
      const answer = await service.post('/v1/compute', step);
      expect([answer.status, answer.json.state]).toEqual([200, 'succeeded']);
      expect(service.unexpected).toHaveLength(1);
    }
    expect(answered).toBe(1);
  });

  it('makes no span for a caller without a key, or for what is only looked up', async () => {
    await traced();
    await service.post('/v1/compute', step, { authorization: 'Bearer none' });
    await service.get('/v1/usage');
    await service.post('/v1/compute', step);
    expect((await spans()).filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1);
  });
});

import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createCanaries } from '../fakes/canaries.ts';
import { readEvents } from '../fakes/event-stream.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../fakes/otlp-receiver.ts';
import { type BuiltService, SHAPES, startBuiltService } from '../fakes/running-service.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`;
const EVENTS = { accept: 'text/event-stream' };
const PHASES = ['prompt', 'model', 'admission', 'queue', 'sandbox'];

const values = createCanaries();
const told = createCanaries();
const functions: Readonly<Record<string, string>> = {
  returns: 'def compute(data):\n    return data["records"][0]["name"]\n',
  raises: 'def compute(data):\n    raise ValueError(data["records"][0]["name"])\n',
  spins: 'def compute(data):\n    while True:\n        pass\n',
  refused: `import socket\n# ${told.text()}\ndef compute(data):\n    return 1\n`,
};

/** A body whose function is the one of that name. */
const bodyOf = (name: string, more: object = {}) =>
  `{"sources":[{"name":"records","result":${values.dataset()}}],${JSON.stringify({
    step: `do ${name} ${told.text()}`,
    ...more,
  }).slice(1)}`;

const started = (receiver: OtlpReceiver, sandboxd = false): Promise<BuiltService> =>
  startBuiltService({
    sandboxd,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, SANDBOX_POOL_SIZE: '1' },
    answer: ({ user }) => functions[/do (\w+) /.exec(user)?.[1] ?? ''] ?? '',
  });

describe.each(SHAPES)('a step on a real container, $shape', ({ sandboxd }) => {
  let receiver: OtlpReceiver;
  let built: BuiltService;
  let spans: readonly ReceivedSpan[];
  const ids: string[] = [];
  const streams: string[] = [];
  let exitCode: number | null = null;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    built = await started(receiver, sandboxd);
    await built.ready();
    for (const [name, more] of [
      ['returns', {}],
      ['raises', {}],
      ['spins', { limits: { wall_seconds: 1 } }],
      ['refused', { repair: { max_attempts: 2 } }],
    ] as const) {
      const { text } = await built.post('/v1/compute', bodyOf(name, more), {
        ...EVENTS,
        traceparent: CALLER,
      });
      streams.push(text);
      ids.push(readEvents(text).at(-1)?.json.id);
    }
    // A stream is a request like any other in the metrics, when its last event is out.
    const labels = 'route="/v1/compute",method="POST",status="200"';
    const counted = `compute_step_http_request_seconds_count{${labels}} 4\n`;
    await vi.waitFor(async () => expect(await built.metrics()).toContain(counted), { timeout: 10_000 });
    exitCode = await built.stop();
    expect(exitCode).toBe(0);
    spans = receiver.spans();
  });
  afterAll(async () => {
    if (exitCode === null) await built?.stop();
    await receiver?.close();
  });

  it('has all its spans sent before the service ends', () => {
    const servers = spans.filter(({ name }) => name === 'POST /v1/compute');
    expect(servers.map(({ attributes }) => attributes['compute_step.id'])).toEqual(ids);
    expect(servers.map(({ attributes }) => attributes['compute_step.outcome'])).toEqual([
      'succeeded',
      'exception',
      'timeout',
      'code_not_admitted',
    ]);
    const phasesOf = (index: number) =>
      spans.filter(({ parentSpanId }) => parentSpanId === servers[index]?.spanId).map(({ name }) => name);
    for (const index of [0, 1, 2]) expect(phasesOf(index)).toEqual(PHASES);
    expect(phasesOf(3)).toEqual(['prompt', 'model', 'admission', 'model', 'admission']);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  });

  it('has its webhook called in the span of the attempt', () => {
    const models = spans.filter(({ name }) => name === 'model');
    expect(built.model.requests.map(({ headers }) => headers.traceparent)).toEqual(
      models.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    );
  });

  it('has the trace in its line of the log', () => {
    const lines = built.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'step');
    expect(lines.map(({ id, trace_id }) => [id, trace_id])).toEqual(ids.map((id) => [id, TRACE]));
  });

  it('tells its progress as it happens to be, and what it came to', () => {
    const [returns, raises, spins, refused] = streams.map(readEvents);
    const phases = ['prompt', 'model', 'admission', 'queue', 'running', 'computation'];
    for (const events of [returns, raises, spins]) expect(events?.map(({ event }) => event)).toEqual(phases);
    expect(refused?.map(({ event }) => event)).toEqual([
      'prompt',
      'model',
      'admission',
      'model',
      'admission',
      'computation',
    ]);
    const ran = spins?.at(-2)?.json.elapsed_ms;
    // The run took a second of its own after `running`.
    expect(spins?.at(-1)?.json.timings_ms.total - ran).toBeGreaterThan(500);
  });

  it('shows nothing of the data, the instruction or the function in spans and events', () => {
    const traces = Buffer.concat(
      receiver.exports.map(({ body, headers }) => {
        return Buffer.concat([Buffer.from(JSON.stringify(headers)), body]);
      }),
    );
    const progress = Buffer.from(streams.map((text) => text.split('event: computation')[0]).join(''));
    for (const sink of [traces, progress]) {
      expect([values, told].flatMap((canaries) => canaries.find(sink))).toEqual([]);
      expect(sink.includes(built.key)).toBe(false);
      expect(values.find(Buffer.concat([sink, Buffer.from(values.text())]))).not.toEqual([]);
    }
  });
});

describe('a receiver that fails', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const lost = (built: BuiltService) =>
    built.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'traces_not_sent');
  const stepEnds = async (built: BuiltService) => {
    const { status, json } = await built.post('/v1/compute', bodyOf('returns'));
    expect([status, json.state]).toEqual([200, 'succeeded']);
  };

  it('is told of once by a name, and neither fails a step nor keeps the service from ending', async () => {
    let answer = (response: ServerResponse): unknown => response.writeHead(500).end(values.text());
    const receiver = await startOtlpReceiver((response) => answer(response));
    closing.push(receiver.close);
    const built = await started(receiver);
    let exitCode: number | null = null;
    closing.push(async () => exitCode ?? built.stop());
    await built.ready();
    await stepEnds(built);
    await expect.poll(() => lost(built).length, { timeout: 30_000 }).toBe(1);
    expect(lost(built)[0].detail).toMatch(/^HTTP 500; \d+ spans were lost$/);
    // From now on it takes what it is sent and never answers.
    answer = () => {};
    const before = receiver.exports.length;
    await stepEnds(built);
    await expect.poll(() => receiver.exports.length, { timeout: 30_000 }).toBeGreaterThan(before);
    await stepEnds(built);
    exitCode = await built.stop();
    expect(exitCode).toBe(0);
    expect(lost(built)).toHaveLength(1);
    expect(values.find(built.log.join('\n'))).toEqual([]);
  });

  it('or is not there, is no matter for a step', async () => {
    const receiver = await startOtlpReceiver();
    await receiver.close();
    const built = await started(receiver);
    let exitCode: number | null = null;
    closing.push(async () => exitCode ?? built.stop());
    await built.ready();
    await stepEnds(built);
    await expect.poll(() => lost(built).length, { timeout: 30_000 }).toBe(1);
    expect(lost(built)[0].detail).toMatch(/^ECONNREFUSED; \d+ spans were lost$/);
    exitCode = await built.stop();
    expect(exitCode).toBe(0);
  });
});

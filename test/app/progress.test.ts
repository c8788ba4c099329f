import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ReceivedEvent, readEvents } from '../fakes/event-stream.ts';
import { fakeSandbox, returned } from '../fakes/sandbox.ts';
import { answersInTurn } from '../fakes/scripted-model.ts';
import {
  startTestService,
  type TestAnswer,
  type TestService,
  type TestServiceOptions,
} from '../fakes/service.ts';

const GOOD = 'def compute(data):\n    return 42\n';
const REFUSED = 'def compute(data):\n    import socket\n    return 1\n';
const EVENTS = { accept: 'text/event-stream' };
const step = { step: 'sum', sources: [{ name: 'orders', result: [{ secretkey: 'canary-value' }] }] };

let service: TestService;
const services: TestService[] = [];
afterEach(async () => {
  for (const each of services.splice(0)) await each.close();
});

async function start(options: TestServiceOptions = {}): Promise<TestService> {
  service = await startTestService(options);
  services.push(service);
  return service;
}

/** Posts for events; those that came, and the answer. */
async function eventsOf(body: unknown, headers: Record<string, string> = {}) {
  const answer = await service.post('/v1/compute', body, { ...EVENTS, ...headers });
  return { answer, events: readEvents(answer.text) };
}

const names = (events: readonly ReceivedEvent[]) => events.map(({ event }) => event);

/** What a Computation is but for its id, its times and the month's count. */
function lasting({ json }: TestAnswer | ReceivedEvent): object {
  const { id, timings_ms, quota, ...rest } = json;
  return rest;
}

describe('progress of a step', () => {
  it('is its phases in order, then the Computation as it is as JSON', async () => {
    await start();
    const { answer, events } = await eventsOf(step);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    expect(names(events)).toEqual(['prompt', 'model', 'admission', 'queue', 'running', 'computation']);
    const last = events.at(-1) as ReceivedEvent;
    expect(lasting(last)).toEqual(lasting(await service.post('/v1/compute', step)));
    let before = 0;
    for (const { json } of events.slice(0, -1)) {
      expect(json.id).toBe(last.json.id);
      expect(json.elapsed_ms).toBeGreaterThanOrEqual(before);
      before = json.elapsed_ms;
    }
  });

  it('tells the attempts of a repair, with rule and line, and no content', async () => {
    await start({ answer: answersInTurn(REFUSED, GOOD) });
    const { answer, events } = await eventsOf(step);
    expect(names(events)).toEqual([
      'prompt',
      'model',
      'admission',
      'model',
      'admission',
      'queue',
      'running',
      'computation',
    ]);
    const told = events.slice(0, -1).map(({ json: { id, elapsed_ms, ...rest } }) => rest);
    expect(told).toEqual([
      {},
      { attempt: 1 },
      { attempt: 1, admitted: false, rule_id: 'import', line: 2 },
      { attempt: 2 },
      { attempt: 2, admitted: true },
      {},
      {},
    ]);
    const progress = answer.text.slice(0, answer.text.indexOf('event: computation'));
    for (const content of ['socket', 'def ', 'secretkey', 'canary', 'orders', 'sum']) {
      expect(progress).not.toContain(content);
    }
  });

  it('tells of a reply without a function as of one that is refused', async () => {
    await start({ answer: answersInTurn('I would rather not.', GOOD) });
    const { events } = await eventsOf(step);
    expect(events[2]?.json).toMatchObject({ attempt: 1, admitted: false, rule_id: 'structure', line: 1 });
    expect(events.at(-1)?.json.state).toBe('succeeded');
  });

  it('ends with a Computation whatever its state', async () => {
    await start({ answer: () => REFUSED });
    const { events } = await eventsOf(step);
    expect(names(events).slice(-2)).toEqual(['admission', 'computation']);
    expect(events.at(-1)?.json).toMatchObject({ state: 'not_admitted', admission: { rule_id: 'import' } });
  });

  it('keeps the digits of a result, and its line ends as line ends', async () => {
    const sandbox = fakeSandbox();
    const digits =
      '[9007199254740993,\n1.10,\n1606938044258990275541962092341162602522202993782792835301376]';
    sandbox.answer = () => returned(digits);
    await start({ sandbox });
    const { events } = await eventsOf({ ...step, result_type: 'array' });
    expect(events.at(-1)?.data).toContain(`"result":${digits},`);
  });

  it('has no attempt where the function was kept', async () => {
    await start();
    const cached = { ...step, cache: 'use' };
    await service.post('/v1/compute', cached);
    const { events } = await eventsOf(cached);
    expect(names(events)).toEqual(['prompt', 'admission', 'queue', 'running', 'computation']);
    expect(events[1]?.json).not.toHaveProperty('attempt');
    expect(events.at(-1)?.json.function.source).toBe('cache');
  });

  it('has a model event without an attempt where another request asks', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await start({
      answer: async () => {
        await held;
        return GOOD;
      },
    });
    const cached = { ...step, cache: 'use' };
    const both = [eventsOf(cached), eventsOf(cached)];
    await expect
      .poll(async () => (await service.get('/v1/usage')).json.open_permits, { timeout: 10_000 })
      .toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    release();
    const models = (await Promise.all(both)).map(
      ({ events }) => events.find(({ event }) => event === 'model')?.json,
    );
    expect(models.map(({ attempt }) => attempt).sort()).toEqual([1, undefined]);
    expect(service.model.requests).toHaveLength(1);
  });
});

describe('a problem', () => {
  it.each([
    ['an unknown key', { authorization: 'Bearer none' }, step, 401, 'unauthorized'],
    ['another content type', { 'content-type': 'text/plain' }, step, 415, 'unsupported_media_type'],
    ['a body that is none', {}, '{', 400, 'invalid_request'],
    ['a wrong field', {}, { ...step, timeout_seconds: 1e9 }, 400, 'invalid_request'],
    [
      'a prompt without room',
      {},
      { ...step, result_schema: { description: 'x'.repeat(64_000) } },
      400,
      'invalid_request',
    ],
    ['a key that is none', { 'idempotency-key': 'ä' }, step, 400, 'invalid_request'],
  ])(
    'that is known before the step begins is an ordinary one: %s',
    async (_what, headers, body, status, code) => {
      await start();
      const { answer } = await eventsOf(body, headers as Record<string, string>);
      expect([answer.status, answer.json.code]).toEqual([status, code]);
      expect(answer.headers['content-type']).toContain('application/problem+json');
    },
  );

  it('of a spent quota or a sandbox that is not there is an ordinary one', async () => {
    const sandbox = fakeSandbox();
    await start({ tenant: { quotas: { compute_runs: 0, compute_seconds: null } }, sandbox });
    const { answer } = await eventsOf(step);
    expect([answer.status, answer.json.code]).toEqual([429, 'quota_exceeded']);
    expect(answer.headers['retry-after']).toBeDefined();
    sandbox.ready = [{ check: 'engine', ok: false, detail: 'gone' }];
    expect((await eventsOf(step)).answer.status).toBe(503);
  });

  it('of the service itself is an ordinary one before the step has begun', async () => {
    const sandbox = {
      ...fakeSandbox(),
      readiness: async () => {
        throw new Error('canary');
      },
    };
    await start({ sandbox });
    const { answer } = await eventsOf(step);
    expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
    expect(service.unexpected).toHaveLength(1);
  });

  it('that comes later is the last event, with what it is as JSON', async () => {
    await start({ answer: () => ({ status: 400 }) });
    const { answer, events } = await eventsOf(step);
    expect(answer.status).toBe(200);
    expect(names(events)).toEqual(['prompt', 'model', 'problem']);
    const ordinary = await service.post('/v1/compute', step);
    expect(ordinary.status).toBe(502);
    const withoutId = (text = '') => ({ ...JSON.parse(text), id: null });
    expect(withoutId(events.at(-1)?.data)).toEqual(withoutId(ordinary.text));
    expect(JSON.parse(events.at(-1)?.data ?? '').id).toBe(service.finished[0]?.id);
  });

  it('of the service itself is told by its code and the id that is logged', async () => {
    const sandbox = fakeSandbox();
    sandbox.answer = () => {
      throw new Error('canary');
    };
    await start({ sandbox });
    const { answer, events } = await eventsOf(step);
    expect(names(events).slice(-2)).toEqual(['running', 'problem']);
    expect(events.at(-1)?.json).toMatchObject({
      code: 'internal_error',
      status: 500,
      id: events[0]?.json.id,
    });
    expect(answer.text).not.toContain('canary');
    expect(service.unexpected).toHaveLength(1);
    expect(service.unexpectedIds).toEqual([events[0]?.json.id]);
    expect((await service.get('/v1/usage')).json.open_permits).toBe(0);
  });
});

describe('the form of the answer', () => {
  it.each([
    ['application/json, text/event-stream', 'application/json'],
    ['text/event-stream;q=0.4, application/json;q=0.5', 'application/json'],
    ['text/event-stream, application/json;q=0.5', 'text/event-stream'],
  ])('for accept %s is %s', async (accept, type) => {
    await start();
    const answer = await service.post('/v1/compute', step, { accept });
    expect(answer.headers['content-type']).toContain(type);
  });

  it('is neither for who takes neither, and no stream anywhere else', async () => {
    await start();
    const none = await service.post('/v1/compute', step, { accept: 'text/html' });
    expect([none.status, none.json.detail]).toEqual([406, 'Accept application/json or text/event-stream.']);
    for (const path of ['/v1/compute/run', '/v1/compute/draft', '/v1/compute/admit']) {
      const answer = await service.post(path, { ...step, code: GOOD }, EVENTS);
      expect([path, answer.status]).toEqual([path, 406]);
    }
  });
});

describe('an Idempotency-Key and events', () => {
  const key = { 'idempotency-key': 'k-1' };

  it('give the last event at once when they are sent again, and count once', async () => {
    await start();
    const first = await eventsOf(step, key);
    const again = await eventsOf(step, key);
    expect(again.answer.headers['idempotency-replayed']).toBe('true');
    expect(names(again.events)).toEqual(['computation']);
    expect(again.events[0]?.data).toBe(first.events.at(-1)?.data);
    const asJson = await service.post('/v1/compute', step, key);
    expect(asJson.text).toBe(first.events.at(-1)?.data);
    expect(service.sandbox.runs).toHaveLength(1);
    expect((await service.get('/v1/usage')).json.compute_runs.used).toBe(1);
  });

  it('are refused while the first is in flight, and with another body', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await start({
      answer: async () => {
        await held;
        return GOOD;
      },
    });
    const first = eventsOf(step, key);
    await expect.poll(() => service.model.requests.length, { timeout: 10_000 }).toBe(1);
    const second = await eventsOf(step, key);
    expect([second.answer.status, second.answer.json.code]).toEqual([409, 'idempotency_in_flight']);
    const other = await eventsOf({ ...step, step: 'another' }, key);
    expect([other.answer.status, other.answer.json.code]).toEqual([422, 'idempotency_key_reused']);
    release();
    expect(names((await first).events).at(-1)).toBe('computation');
  });
});

describe('a client of the events', () => {
  /** Posts over a connection of its own to a listening service. */
  function call(at: { readonly port: number } | { readonly socketPath: string }): Promise<{
    readonly request: ClientRequest;
    readonly response: IncomingMessage;
  }> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        host: '127.0.0.1',
        ...at,
        path: '/v1/compute',
        method: 'POST',
        headers: { ...EVENTS, authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      });
      request.once('response', (response) => {
        response.on('error', () => {});
        resolve({ request, response });
      });
      request.once('error', reject);
      request.end(JSON.stringify(step));
    });
  }

  async function port(): Promise<number> {
    return Number(new URL(await service.app.listen({ host: '127.0.0.1', port: 0 })).port);
  }

  const uncounted = { compute_runs: { used: 0 }, open_permits: 0, outcomes: {} };

  it('gets each as it happens, with comments while nothing does', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await start({
      events: { heartbeatMs: 20 },
      answer: async () => {
        await held;
        return GOOD;
      },
    });
    const { response } = await call({ port: await port() });
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    await expect.poll(() => text.split('\n:\n').length, { timeout: 10_000 }).toBeGreaterThan(3);
    expect(names(readEvents(text))).toEqual(['prompt', 'model']);
    const ended = new Promise((resolve) => response.once('end', resolve));
    release();
    await ended;
    expect(names(readEvents(text)).at(-1)).toBe('computation');
  });

  it('that hangs up while the model is asked stops the call, and nothing counts', async () => {
    let closed = 0;
    await start({
      answer: () => ({
        handle: (_response, request) => {
          request.socket.once('close', () => {
            closed += 1;
          });
        },
      }),
    });
    const { request } = await call({ port: await port() });
    await expect.poll(() => service.model.requests.length, { timeout: 10_000 }).toBe(1);
    request.destroy();
    await expect.poll(() => closed, { timeout: 10_000 }).toBe(1);
    await expect.poll(() => service.finished.at(-1)?.outcome, { timeout: 10_000 }).toBe('cancelled');
    expect((await service.get('/v1/usage')).json).toMatchObject(uncounted);
  });

  it('that hangs up while the function runs ends the run, which counts', async () => {
    const sandbox = fakeSandbox();
    sandbox.answer = (_run, signal) =>
      new Promise((resolve) => {
        const { usage } = returned('1') as Extract<ReturnType<typeof returned>, { kind: 'returned' }>;
        signal.addEventListener('abort', () => resolve({ kind: 'killed', reason: 'cancelled', usage }));
      });
    await start({ sandbox });
    const { request } = await call({ port: await port() });
    await expect.poll(() => sandbox.runs.length, { timeout: 10_000 }).toBe(1);
    request.destroy();
    await expect.poll(() => service.finished.at(-1)?.outcome, { timeout: 10_000 }).toBe('cancelled');
    expect((await service.get('/v1/usage')).json).toMatchObject({
      compute_runs: { used: 1 },
      open_permits: 0,
      outcomes: { cancelled: 1 },
    });
  });

  it('that does not read is cut off at the bound, as if it had hung up', async () => {
    await start({ events: { heartbeatMs: 1, unreadMaxBytes: 512 }, answer: () => ({ hang: true }) });
    // A socket whose buffers are small and of one size on every machine, so that little fills them.
    const socketPath = join(service.folder, 'api.sock');
    await service.app.listen({ path: socketPath });
    const { response } = await call({ socketPath });
    response.pause();
    response.socket.pause();
    await expect.poll(() => service.finished.at(-1)?.outcome, { timeout: 25_000 }).toBe('cancelled');
    expect((await service.get('/v1/usage')).json).toMatchObject(uncounted);
  });

  it('is told of what ended its step when the service stops', async () => {
    await start({ answer: () => ({ hang: true }) });
    const { response } = await call({ port: await port() });
    await expect.poll(() => service.model.requests.length, { timeout: 10_000 }).toBe(1);
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const ended = new Promise((resolve) => response.once('end', resolve));
    service.stopping.abort();
    await ended;
    expect(names(readEvents(text)).at(-1)).toBe('problem');
  });
});

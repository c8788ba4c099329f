import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/port.ts';
import { Slots } from '../../src/sandbox/slots.ts';
import { startLazyProxy } from '../fakes/lazy-proxy.ts';
import { FAKE_USAGE, fakeSandbox, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../fakes/service.ts';

const GOOD = 'def compute(data):\n    return 42\n';
const REFUSED = 'import socket\n\ndef compute(data):\n    return 1\n';
const step = { step: 'sum', sources: [{ name: 'orders', result: [1] }] };
const run = { code: GOOD, sources: [{ result: 1 }] };
const uncounted = { compute_runs: { used: 0 }, open_permits: 0, outcomes: {} };

const services: TestService[] = [];
let last: TestService;
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

/** A service that listens, so that a caller has a connection to hang up. */
async function listening(options: TestServiceOptions): Promise<string> {
  last = await startTestService(options);
  services.push(last);
  return last.app.listen({ host: '127.0.0.1', port: 0 });
}

/** Posts over a connection of its own; `hangUp` closes it. */
function call(url: string, path: string, body: object) {
  const controller = new AbortController();
  const answer = fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${last.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: controller.signal,
  }).then(
    ({ status }) => status,
    (error: Error) => error.name,
  );
  return { answer, hangUp: () => controller.abort() };
}

/** A model that answers with `texts` in turn, and then never; it notes when the service closes the connection. */
function silentAfter(texts: readonly string[]) {
  let closed = 0;
  const answer: TestServiceOptions['answer'] = ({ index }) => {
    const text = texts[index];
    return (
      text ?? {
        handle: (_response, request) => {
          request.socket.once('close', () => {
            closed += 1;
          });
        },
      }
    );
  };
  return { answer, closed: () => closed };
}

describe.each(['/v1/compute', '/v1/compute/draft'])('a caller of %s who hangs up', (path) => {
  it.each([
    ['while the model is asked', [], { cache: 'off' }, 1],
    ['while it is asked again', [REFUSED], { cache: 'off' }, 2],
    ['while it is asked for the cache', [], { cache: 'use' }, 1],
  ])('%s stops the call, and nothing counts', async (_name, texts, more, requests) => {
    const model = silentAfter(texts);
    const url = await listening({ answer: model.answer });
    const { answer, hangUp } = call(url, path, { ...step, ...more });
    await expect.poll(() => last.model.requests.length, { timeout: 10_000 }).toBe(requests);
    expect(model.closed()).toBe(0);
    hangUp();
    expect(await answer).toBe('AbortError');
    await expect.poll(model.closed, { timeout: 10_000 }).toBe(1);
    await expect.poll(() => last.finished.at(-1)?.outcome, { timeout: 10_000 }).toBe('cancelled');
    expect(last.sandbox.runs).toHaveLength(0);
    expect((await last.get('/v1/usage')).json).toMatchObject(uncounted);
  });
});

describe('two callers who share a call', () => {
  it('have it stopped only when both have hung up', async () => {
    const model = silentAfter([]);
    const url = await listening({ answer: model.answer });
    const calls = [1, 2].map(() => call(url, '/v1/compute', { ...step, cache: 'use' }));
    // Both are past their permits, so both wait for the one call.
    await expect
      .poll(async () => (await last.get('/v1/usage')).json.open_permits, { timeout: 10_000 })
      .toBe(2);
    await expect.poll(() => last.model.requests.length, { timeout: 10_000 }).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    calls[0]?.hangUp();
    await expect.poll(() => last.finished.length, { timeout: 10_000 }).toBe(1);
    expect(model.closed()).toBe(0);
    calls[1]?.hangUp();
    await expect.poll(model.closed, { timeout: 10_000 }).toBe(1);
    expect(last.model.requests).toHaveLength(1);
  });
});

describe('a run that waits for its place', () => {
  let slots: Slots;
  let running: Promise<void>;
  let finish: () => void;
  let sandbox: Sandbox;
  beforeEach(() => {
    slots = new Slots({ size: 1, queueLimit: 8 });
    running = new Promise((resolve) => {
      finish = resolve;
    });
    const fake = fakeSandbox();
    fake.answer = async () => {
      await running;
      return returned('42');
    };
    sandbox = {
      ...fake,
      run: async (fn, data, permit, limits, signal, events) => {
        const take = await slots.take(permit.tenant, signal);
        if (take.kind !== 'taken') {
          return { kind: 'notStarted', reason: 'cancelled', detail: take.kind };
        }
        try {
          return await fake.run(fn, data, permit, limits, signal, events);
        } finally {
          take.release();
        }
      },
    };
  });

  it('leaves the queue when its caller hangs up, and the one before it goes on', async () => {
    const url = await listening({ sandbox });
    const first = call(url, '/v1/compute/run', run);
    await expect.poll(() => slots.running, { timeout: 10_000 }).toBe(1);
    const second = call(url, '/v1/compute/run', run);
    await expect.poll(() => slots.waiting, { timeout: 10_000 }).toBe(1);
    second.hangUp();
    await expect.poll(() => slots.waiting, { timeout: 10_000 }).toBe(0);
    await expect.poll(() => last.finished.at(-1)?.outcome, { timeout: 10_000 }).toBe('cancelled');
    finish();
    expect(await first.answer).toBe(200);
    expect((await last.get('/v1/usage')).json).toMatchObject({ compute_runs: { used: 1 }, open_permits: 0 });
  });

  it('leaves the queue at the one deadline, of which the model took its part', async () => {
    const url = await listening({ sandbox, answer: () => ({ text: GOOD, delayMs: 300 }) });
    const first = call(url, '/v1/compute/run', run);
    await expect.poll(() => slots.running, { timeout: 10_000 }).toBe(1);
    const second = call(url, '/v1/compute', { ...step, timeout_seconds: 2 });
    await expect.poll(() => slots.waiting, { timeout: 10_000 }).toBe(1);
    expect(await second.answer).toBe(504);
    expect(slots.waiting).toBe(0);
    expect(last.finished.at(-1)?.outcome).toBe('deadline_exceeded');
    finish();
    expect(await first.answer).toBe(200);
    expect((await last.get('/v1/usage')).json).toMatchObject({ compute_runs: { used: 1 }, open_permits: 0 });
  });
});

describe('a caller behind a proxy that passes only the end of its bytes on', () => {
  it.each([1, 2])('is known to have hung up within seconds, with %i of them between', async (between) => {
    const url = await listening({});
    last.sandbox.answer = (_run, signal) =>
      new Promise((report) => {
        signal.addEventListener('abort', () =>
          report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE }),
        );
      });
    const proxies = [await startLazyProxy(Number(new URL(url).port))];
    if (between === 2) proxies.unshift(await startLazyProxy(proxies[0]?.port ?? 0));
    const { answer, hangUp } = call(`http://127.0.0.1:${proxies[0]?.port}`, '/v1/compute/run', run);
    await expect.poll(() => last.sandbox.runs.length, { timeout: 10_000 }).toBe(1);
    hangUp();
    expect(await answer).toBe('AbortError');
    await expect.poll(() => last.finished.at(-1)?.outcome, { timeout: 8000 }).toBe('cancelled');
    for (const proxy of proxies) proxy.close();
  });
});

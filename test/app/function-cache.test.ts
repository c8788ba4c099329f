import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunReport } from '../../src/sandbox/port.ts';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import type { ScriptedAnswer } from '../fakes/scripted-model.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const GOOD = 'def compute(data):\n    return 42\n';
const OTHER = 'def compute(data):\n    return 43\n';
const REFUSED = 'import socket\n\ndef compute(data):\n    return 1\n';
const sources = (price: unknown) => [{ name: 'orders', result: [{ price }] }];
const step = { step: 'sum', result_type: 'number', sources: sources(20), cache: 'use' };
const RAISED: RunReport = {
  kind: 'raised',
  exception: 'KeyError',
  line: 2,
  text: null,
  printed: null,
  usage: FAKE_USAGE,
};

let service: TestService;
let answer: ScriptedAnswer | ((index: number) => ScriptedAnswer);
beforeEach(async () => {
  answer = GOOD;
  service = await startTestService({
    moreTenants: [{ id: 'other' }, { id: 'keeps', cache: 'use' }],
    answer: ({ index }) => (typeof answer === 'function' ? answer(index) : answer),
  });
});
afterEach(() => service.close());

const asked = () => service.model.requests.length;
const post = (body: object, tenant = 'acme') =>
  service.post('/v1/compute', body, { authorization: `Bearer ${service.keys.get(tenant)}` });
const source = async (body: object, tenant?: string) => (await post(body, tenant)).json.function?.source;

describe('a question that was asked before', () => {
  it('takes the function kept, over new data of the same shape', async () => {
    const first = (await post(step)).json;
    const second = (await post({ ...step, sources: sources(99) })).json;
    expect([first.function.source, second.function.source]).toEqual(['model', 'cache']);
    expect(second).toMatchObject({
      state: 'succeeded',
      code_sha256: first.code_sha256,
      metered: { compute_runs: 1 },
    });
    expect(second.attempts).toEqual(first.attempts);
    expect(service.sandbox.runs.map(({ data }) => data)).toEqual([
      '{"orders":[{"price":20}]}',
      '{"orders":[{"price":99}]}',
    ]);
    expect(asked()).toBe(1);
    expect(service.cached).toEqual(['miss', 'stored', 'hit']);
    expect(service.finished.at(-1)).toMatchObject({ functionSource: 'cache' });
  });

  it('asks the model for another shape, instruction or result type', async () => {
    await post(step);
    for (const changed of [{ sources: sources('20') }, { step: 'mean' }, { result_type: 'any' }]) {
      expect(await source({ ...step, ...changed })).toBe('model');
    }
    expect(asked()).toBe(4);
  });

  it('neither looks nor keeps by default, nor where it says so', async () => {
    const { cache: _, ...plain } = step;
    for (const body of [plain, { ...step, cache: 'off' }]) {
      expect(await source(body)).toBe('model');
    }
    expect(await source(step)).toBe('model');
    expect(await source({ ...step, cache: 'off' })).toBe('model');
    expect(asked()).toBe(4);
    expect(service.cached).toEqual(['miss', 'stored']);
  });

  it('has the function written anew with refresh, and that one is kept', async () => {
    await post(step);
    answer = OTHER;
    expect(await source({ ...step, cache: 'refresh' })).toBe('model');
    expect((await post({ ...step, include: ['code'] })).json.function).toEqual({
      source: 'cache',
      code: OTHER,
    });
    expect(service.cached).toEqual(['miss', 'stored', 'stored', 'hit']);
  });

  it('follows the tenant where the request says nothing', async () => {
    const { cache: _, ...plain } = step;
    expect(await source(plain, 'keeps')).toBe('model');
    expect(await source(plain, 'keeps')).toBe('cache');
    expect(await source({ ...step, cache: 'off' }, 'keeps')).toBe('model');
  });

  it('never takes what another tenant’s question left', async () => {
    await post(step);
    expect(await source(step, 'other')).toBe('model');
    expect(asked()).toBe(2);
  });

  it('takes what a draft left, and the other way round', async () => {
    expect((await service.post('/v1/compute/draft', step)).json.state).toBe('admitted');
    expect(await source(step)).toBe('cache');
    expect((await service.post('/v1/compute/draft', step)).json.code).toBe(GOOD);
    expect(asked()).toBe(1);
  });
});

describe('a function', () => {
  it.each<[string, () => RunReport]>([
    ['raised', () => RAISED],
    ['returned the wrong type', () => returned('"x"')],
  ])('that %s is not taken again', async (_name, report) => {
    await post(step);
    service.sandbox.answer = report;
    expect(await source(step)).toBe('cache');
    service.sandbox.answer = () => returned('42');
    expect(await source(step)).toBe('model');
    expect(service.cached).toEqual(['miss', 'stored', 'hit', 'evicted', 'miss', 'stored']);
  });

  it('that failed in its first run is not kept', async () => {
    service.sandbox.answer = () => RAISED;
    await post(step);
    service.sandbox.answer = () => returned('42');
    expect(await source(step)).toBe('model');
  });

  it.each<[string, RunReport]>([
    ['was killed at its limit', { kind: 'killed', reason: 'timeout', usage: FAKE_USAGE }],
    ['could not be started', { kind: 'notStarted', reason: 'overloaded', detail: 'x' }],
  ])('that %s stays', async (_name, report) => {
    service.sandbox.answer = () => report;
    await post(step);
    service.sandbox.answer = () => returned('42');
    expect(await source(step)).toBe('cache');
  });

  it('that was refused is not kept', async () => {
    answer = REFUSED;
    expect((await post(step)).json.state).toBe('not_admitted');
    answer = GOOD;
    expect(await source(step)).toBe('model');
    expect(service.cached).toEqual(['miss', 'miss', 'stored']);
  });
});

describe('the same question at the same time', () => {
  const slow = (text: string): ScriptedAnswer => ({ text, delayMs: 400 });

  it('asks the model once, and everybody has the function and a run of their own', async () => {
    answer = slow(GOOD);
    const all = await Promise.all([1, 2, 3, 4].map((price) => post({ ...step, sources: sources(price) })));
    expect(all.map(({ json }) => json.state)).toEqual(Array.from({ length: 4 }, () => 'succeeded'));
    expect(all.map(({ json }) => json.function.source).sort()).toEqual(['cache', 'cache', 'cache', 'model']);
    expect(new Set(all.map(({ json }) => json.id)).size).toBe(4);
    expect(asked()).toBe(1);
    expect(service.sandbox.runs).toHaveLength(4);
    expect((await service.get('/v1/usage')).json.compute_runs.used).toBe(4);
    expect(service.cached.toSorted()).toEqual(['hit', 'hit', 'hit', 'miss', 'stored']);
  });

  it('asks the model once a tenant', async () => {
    answer = slow(GOOD);
    await Promise.all([post(step), post(step), post(step, 'other'), post(step, 'other')]);
    expect(asked()).toBe(2);
  });

  it('shares nothing where the cache is off', async () => {
    answer = slow(GOOD);
    await Promise.all([post({ ...step, cache: 'off' }), post({ ...step, cache: 'off' })]);
    expect(asked()).toBe(2);
  });

  it('fails for all of them with the webhook', async () => {
    answer = { status: 400, delayMs: 400 };
    const all = await Promise.all([post(step), post(step)]);
    expect(all.map(({ status }) => status)).toEqual([502, 502]);
    expect(asked()).toBe(1);
  });

  it('goes on for the others when the one who asked first is at its deadline', async () => {
    answer = { text: GOOD, delayMs: 1500 };
    const first = post({ ...step, timeout_seconds: 0.5 });
    await expect.poll(asked).toBe(1);
    const second = post(step);
    expect((await first).status).toBe(504);
    expect((await second).json).toMatchObject({ state: 'succeeded', function: { source: 'cache' } });
    expect(asked()).toBe(1);
  });
});

describe('with the cache and without it', () => {
  /** What may differ: ids, times, where the function came from, and the count so far. */
  const comparable = ({
    id: _,
    timings_ms: __,
    quota: ___,
    function: fn,
    ...rest
  }: Record<string, unknown>) => ({
    ...rest,
    code: (fn as { code?: string }).code,
  });

  it('the Computation is the same but for function.source and timings', async () => {
    const texts = [GOOD, OTHER, REFUSED, 'Sorry.'];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }),
        fc.constantFrom<RunReport>(returned('42'), returned('"x"'), RAISED),
        fc.string({ minLength: 1, maxLength: 20 }),
        async (replies, report, instruction) => {
          service.sandbox.answer = () => report;
          const ask = async (cache: string) => {
            // The model is deterministic: what it writes depends on what it is sent.
            const from = asked();
            answer = (index) => replies[Math.min(index - from, replies.length - 1)] ?? '';
            const body = {
              ...step,
              step: instruction,
              cache,
              repair: { max_attempts: 3 },
              include: ['code'],
            };
            const { status, json } = await post(body);
            return {
              status,
              ...(status === 200 ? comparable(json) : { reason: json.reason, attempts: json.attempts }),
            };
          };
          const off = await ask('off');
          expect(await ask('use')).toEqual(off);
          expect(await ask('use')).toEqual(off);
          expect(await ask('refresh')).toEqual(off);
        },
      ),
      { numRuns: 25 },
    );
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../src/contract/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../fakes/service.ts';

const SECRET = 'value-that-must-not-be-echoed';
const sources = [{ name: 'orders', result: [{ price: 20 }] }];
const step = { step: 'sum', sources };

/** Every error is problem+json with the code's own status and title, and echoes nothing of the data. */
function expectProblem(answer: TestAnswer, code: keyof typeof PROBLEMS): void {
  expect(answer.text).not.toContain(SECRET);
  expect(answer.json).toMatchObject({ code, status: PROBLEMS[code].status, title: PROBLEMS[code].title });
  expect(answer.status).toBe(PROBLEMS[code].status);
  expect(answer.headers['content-type']).toContain('application/problem+json');
  expect(answer.json.type).toContain(`#${code}`);
  expect(answer.headers['retry-after']).toBe(answer.json.retry_after_seconds?.toString());
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ bodyMaxBytes: 256 * 1024, bodyInflightMaxBytes: 512 * 1024 });
});
afterAll(() => service.close());

describe('a request that is not valid', () => {
  const raw = (result: string) =>
    `{"step":"sum","sources":[{"name":"a","result":1},{"name":"b","result":${result}}]}`;
  const rawJson = (text: string) =>
    JSON.stringify({
      step: 'sum',
      sources: [
        { name: 'a', result: 1 },
        { name: 'b', result_json: text },
      ],
    });

  it.each<[string, unknown, string[]]>([
    ['an empty body', '', ['body', 'empty']],
    ['a body that is not JSON', '{"step":', ['body']],
    ['an array', [], ['document']],
    ['no step', { sources }, ['step']],
    ['an empty step', { step: '', sources }, ['step must not be empty']],
    ['an empty item', { step: {}, sources }, ['step.instruction is required']],
    ['an empty instruction', { step: { instruction: '' }, sources }, ['step.instruction must not be empty']],
    [
      'a declared schema that is no object',
      { step: 'x', sources: [{ result: 1, schema: 'text' }] },
      ['sources[0].schema', 'object'],
    ],
    [
      'a declared schema that is none',
      { step: 'x', sources: [{ result: 1, schema: { properties: { [SECRET]: { type: 'float' } } } }] },
      ['sources[0].schema.properties.*.type', 'integer'],
    ],
    [
      'a declared schema that is too large',
      { step: 'x', sources: [{ result: 1, schema: { title: 'x'.repeat(65_536) } }] },
      ['sources[0].schema', '64 KiB'],
    ],
    ['no sources', { step: 'sum' }, ['sources']],
    ['an empty list of sources', { step: 'sum', sources: [] }, ['sources']],
    ['an unknown member', { ...step, [SECRET.replaceAll('-', ' ')]: 1 }, ['not a known member']],
    ['an unknown result type', { ...step, result_type: 'float' }, ['result_type', '"number"']],
    [
      'a result type that disagrees',
      { step: { instruction: 'x', result_type: 'number' }, result_type: 'string', sources },
      ['result_type', 'disagree'],
    ],
    [
      'a name that is no identifier',
      { step: 'x', sources: [{ name: '1st', result: 1 }] },
      ['sources[0].name'],
    ],
    [
      'a reserved name',
      { step: 'x', sources: [{ name: 'source_2', result: 1 }] },
      ['sources[0].name', 'source_<n>'],
    ],
    [
      'a repeated name',
      {
        step: 'x',
        sources: [
          { name: 'a', result: 1 },
          { name: 'a', result: 2 },
        ],
      },
      ['sources[1].name', 'twice'],
    ],
    [
      'both result and result_json',
      { step: 'x', sources: [{ result: SECRET, result_json: '1' }] },
      ['sources[0]', 'exactly one'],
    ],
    ['neither of them', { step: 'x', sources: [{ name: 'a' }] }, ['sources[0]', 'exactly one']],
    ['result_json that is no string', { step: 'x', sources: [{ result_json: 5 }] }, ['sources[0]']],
    [
      'more wall time than the operator gives',
      { ...step, limits: { wall_seconds: 11 } },
      ['limits.wall_seconds', 'at most 10'],
    ],
    [
      'more memory than the operator gives',
      { ...step, limits: { memory_mb: 512 } },
      ['limits.memory_mb', 'at most 256'],
    ],
    [
      'a longer deadline than the operator gives',
      { ...step, timeout_seconds: 31 },
      ['timeout_seconds', 'at most 30'],
    ],
    ['detail the tenant may not see', { ...step, include: ['detail'] }, ['include', 'allow_detail']],
    ['an unknown extra', { ...step, include: ['all'] }, ['include']],
    [
      'a result_schema that is none',
      { ...step, result_schema: { type: 'nonsense' } },
      ['result_schema', 'type'],
    ],
    ['a result_schema of no draft', { ...step, result_schema: { $schema: 5 } }, ['result_schema', '$schema']],
    [
      'a result_schema with a remote reference',
      { ...step, result_schema: { $ref: 'https://example.com/x' } },
      ['result_schema', '$ref'],
    ],
    ['no attempt at all', { ...step, repair: { max_attempts: 0 } }, ['repair.max_attempts']],
    ['more attempts than five', { ...step, repair: { max_attempts: 6 } }, ['repair.max_attempts']],
    ['an unknown use of the cache', { ...step, cache: 'always' }, ['cache', '"refresh"']],
    ['NaN in a source', raw(`[1,{"x":NaN}]`), ['sources[1].result', 'NaN']],
    ['Infinity in a source', raw('-Infinity'), ['sources[1].result', 'Infinity']],
    ['a number past the double range', raw('[1e400]'), ['sources[1].result', 'range']],
    ['a repeated key in a source', raw(`{"a":1,"\\u0061":"${SECRET}"}`), ['sources[1].result', 'key']],
    ['a source nested too deep', raw('['.repeat(65) + ']'.repeat(65)), ['sources[1].result', 'nest']],
    [
      'a source nested 100,000 deep',
      raw('['.repeat(50_000) + ']'.repeat(50_000)),
      ['sources[1].result', 'nest'],
    ],
    ['a result_json that is not JSON', rawJson(`{"${SECRET}"`), ['sources[1].result_json']],
    ['a result_json with NaN', rawJson('NaN'), ['sources[1].result_json', 'NaN']],
    ['a result_json with a repeated key', rawJson('{"a":1,"a":2}'), ['sources[1].result_json', 'key']],
  ])('names %s, and the fix', async (_name, body, words) => {
    const answer = await service.post('/v1/compute', body);
    expectProblem(answer, 'invalid_request');
    for (const word of words) {
      expect(answer.json.detail).toContain(word);
    }
    expect(service.model.requests).toHaveLength(0);
  });

  it('names bad UTF-8 in a source', async () => {
    const answer = await service.post(
      '/v1/compute',
      Buffer.concat([
        Buffer.from('{"step":"x","sources":[{"result":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}]}'),
      ]),
    );
    expectProblem(answer, 'invalid_request');
    expect(answer.json.detail).toContain('sources[0].result');
    expect(answer.json.detail).toContain('UTF-8');
  });

  it('refuses repair and cache where no model is asked', async () => {
    const run = { code: 'def compute(data):\n    return 1\n', sources };
    for (const member of [{ repair: { max_attempts: 2 } }, { cache: 'use' }]) {
      const answer = await service.post('/v1/compute/run', { ...run, ...member });
      expectProblem(answer, 'invalid_request');
      expect(answer.json.detail).toContain('is not a known member');
    }
  });

  it('names a month and a query that are none', async () => {
    expectProblem(await service.get('/v1/usage/2026-13'), 'invalid_request');
    expectProblem(await service.post('/v1/compute/admit?all=maybe', { code: '' }), 'invalid_request');
  });
});

describe('a request that gets no further than the door', () => {
  it.each([
    ['no key', undefined],
    ['an unknown key', 'Bearer cs_unknown'],
    ['another scheme', 'Basic abc'],
    ['an endless key', `Bearer ${'x'.repeat(4000)}`],
  ])('is 401 for %s, before its body is looked at', async (_name, authorization) => {
    const response = await service.app.inject({
      method: 'POST',
      url: '/v1/compute',
      headers: { 'content-type': 'text/plain', ...(authorization === undefined ? {} : { authorization }) },
      payload: 'not even JSON',
    });
    expect(response.statusCode).toBe(401);
    expect(response.json()).toMatchObject({ code: 'unauthorized' });
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  it('is 404 for an unknown path and 405 with Allow for another method', async () => {
    expectProblem(await service.get('/v1/nothing'), 'not_found');
    const wrong = await service.get('/v1/compute');
    expectProblem(wrong, 'method_not_allowed');
    expect(wrong.headers.allow).toBe('POST');
    expectProblem(await service.post('/v1/usage/2026-01', {}), 'method_not_allowed');
  });

  it.each(['/%', '/v1/usage/%', `/v1/usage/${'9'.repeat(500)}`])(
    'is a problem for the path %s',
    async (url) => {
      const response = await service.app.inject({ url, headers: { authorization: `Bearer ${service.key}` } });
      expect(response.headers['content-type']).toContain('application/problem+json');
      expect(response.json()).toMatchObject({ code: 'not_found', status: 404 });
    },
  );

  it('is no fault of the service for a method that wants a body and has none', async () => {
    const response = await service.app.inject({ method: 'QUERY' as 'GET', url: '/healthz' });
    expect(response.statusCode).toBeLessThan(500);
    expect(response.headers['content-type']).toContain('application/problem+json');
    expect(service.unexpected).toEqual([]);
  });

  it('is 406, 413 and 415 by name', async () => {
    expectProblem(await service.post('/v1/compute', step, { accept: 'text/csv' }), 'not_acceptable');
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=iso-8859-1' },
      { 'content-type': 'application/json; charset="utf-16"' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'identity, br' },
    ]) {
      expectProblem(await service.post('/v1/compute', step, headers), 'unsupported_media_type');
    }
    for (const headers of [
      { 'content-type': 'application/json; charset=utf-8' },
      { 'content-type': 'application/json;charset="UTF-8"', 'content-encoding': 'Identity' },
    ]) {
      expect((await service.post('/v1/compute', step, headers)).status).toBe(200);
    }
    const large = JSON.stringify({ ...step, sources: [{ result: SECRET.repeat(20_000) }] });
    expectProblem(await service.post('/v1/compute', large), 'body_too_large');
  });

  it('is 503 when the bodies in work have reached their bound', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { answer } = service.sandbox;
    service.sandbox.answer = async () => {
      await held;
      return { kind: 'notStarted', reason: 'sandbox_unavailable', detail: 'x' };
    };
    const half = {
      code: 'def compute(data):\n    return 1\n',
      sources: [{ result: 'x'.repeat(200 * 1024) }],
    };
    const running = [service.post('/v1/compute/run', half), service.post('/v1/compute/run', half)];
    await new Promise((resolve) => setTimeout(resolve, 300));
    expectProblem(await service.post('/v1/compute/run', half), 'overloaded');
    release();
    await Promise.all(running);
    service.sandbox.answer = answer;
    expect((await service.post('/v1/compute/run', half)).status).toBe(200);
  });
});

describe('a model that does not help', () => {
  it.each<[string, object, keyof typeof PROBLEMS]>([
    ['a server error', { status: 500, body: SECRET }, 'model_failed'],
    ['a redirect', { status: 302, headers: { location: 'http://169.254.169.254/' } }, 'model_failed'],
    ['a reply without a function', { text: 'I cannot help with that.' }, 'model_failed'],
  ])('is %s', async (_name, scripted, code) => {
    const own = await startTestService({ answer: () => scripted as never });
    const answer = await own.post('/v1/compute', step);
    expectProblem(answer, code);
    expect((await own.get('/v1/usage')).json).toMatchObject({ compute_runs: { used: 0 }, open_permits: 0 });
    await own.close();
  });

  it('is slower than the deadline of the request', async () => {
    const own = await startTestService({ answer: () => ({ hang: true }) });
    expectProblem(await own.post('/v1/compute', { ...step, timeout_seconds: 0.3 }), 'deadline_exceeded');
    expect((await own.get('/v1/usage')).json).toMatchObject({ compute_runs: { used: 0 }, open_permits: 0 });
    await own.close();
  });

  it('is not asked at all where its URL may not be named', async () => {
    const answer = await service.post('/v1/compute', {
      ...step,
      model: { url: 'https://models.example.com/' },
    });
    expectProblem(answer, 'model_url_refused');
  });

  it('is missing: nobody gave one', async () => {
    const own = await startTestService({ operatorModel: null });
    const answer = await own.post('/v1/compute', step);
    expectProblem(answer, 'invalid_request');
    expect(answer.json.detail).toContain('model');
    expect((await own.post('/v1/compute', { ...step, model: { url: own.model.url } })).status).toBe(200);
    await own.close();
  });
});

describe('a service that is not able', () => {
  it('refuses before the model is asked, counts nothing, and says which check fails', async () => {
    const own = await startTestService();
    own.sandbox.ready = [{ check: 'engine', ok: false, detail: 'connect ENOENT' }];
    expectProblem(await own.post('/v1/compute', step), 'sandbox_unavailable');
    const ready = await own.app.inject({ url: '/readyz' });
    expect(ready.statusCode).toBe(503);
    expect(ready.json()).toEqual({ status: 'unavailable', failing: ['engine'] });
    expect((await own.app.inject({ url: '/healthz' })).statusCode).toBe(200);
    expect((await own.get('/v1/capabilities')).json.compute).toBe('unavailable');
    expect(own.model.requests).toHaveLength(0);
    expect((await own.get('/v1/usage')).json.compute_runs.used).toBe(0);
    await own.close();
  });

  it('turns a bug into a 500 that tells nothing, and logs it', async () => {
    const own = await startTestService();
    own.sandbox.answer = () => {
      throw new Error(SECRET);
    };
    const answer = await own.post('/v1/compute', step);
    expectProblem(answer, 'internal_error');
    expect(own.permitsOpen).toEqual([1, 0]);
    expect(own.unexpected).toHaveLength(1);
    expect(own.unexpectedIds).toEqual([answer.json.id]);
    expect((await own.get('/v1/usage')).json.open_permits).toBe(0);
    await own.close();
  });
});

describe('quotas and a tenant’s own cap', () => {
  it('lets the third step of two be 429 before the model is asked', async () => {
    const own = await startTestService({ tenant: { quotas: { compute_runs: 2, compute_seconds: null } } });
    expect((await own.post('/v1/compute', step)).json.quota.compute_runs).toEqual({ used: 1, limit: 2 });
    expect((await own.post('/v1/compute', step)).status).toBe(200);
    const third = await own.post('/v1/compute', step);
    expectProblem(third, 'quota_exceeded');
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(0);
    expect(third.json).toMatchObject({ meter: 'compute_runs', used: 2, limit: 2 });
    expect(own.model.requests).toHaveLength(2);
    await own.close();
  });

  it('is 429 while max_concurrency requests are in work, and free again after', async () => {
    const own = await startTestService({
      tenant: { max_concurrency: 1 },
      answer: () => ({ text: 'def compute(data):\n    return 1\n', delayMs: 400 }),
    });
    const first = own.post('/v1/compute', step);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expectProblem(await own.post('/v1/compute', step), 'too_many_requests');
    expect((await first).status).toBe(200);
    expect((await own.post('/v1/compute', step)).status).toBe(200);
    await own.close();
  });

  it('takes declared schemas only where the tenant says so', async () => {
    const own = await startTestService({ tenant: { schema_policy: 'declared' } });
    const refused = await own.post('/v1/compute', step);
    expectProblem(refused, 'invalid_request');
    expect(refused.json.detail).toContain('sources[0].schema');
    const schema = { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } };
    const taken = await own.post('/v1/compute', {
      step: 'x',
      sources: [{ name: 'orders', result: [{ price: 1, undeclared_9: 2 }], schema }],
    });
    expect(taken.status).toBe(200);
    expect(own.model.requests.at(-1)?.body.toString()).not.toContain('undeclared_9');
    await own.close();
  });
});

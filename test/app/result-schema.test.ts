import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCanaries } from '../fakes/canaries.ts';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const step = { step: 'x', sources: [{ name: 'x', result: 1 }] };
const canaries = createCanaries();
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterEach(() => {
  service.sandbox.answer = () => returned('42');
});
afterAll(() => service.close());

describe('a result_schema whose pattern runs for hours', () => {
  it('ends as result_schema_timeout and counts, while other requests are served', async () => {
    service.sandbox.answer = () => returned(`"${'a'.repeat(40)}!"`);
    const order: string[] = [];
    const hostile = service
      .post('/v1/compute', { ...step, result_schema: { type: 'string', pattern: '^(a+)+$' } })
      .finally(() => order.push('hostile'));
    // Once the run is over the check begins.
    const runs = service.sandbox.runs.length;
    while (service.sandbox.runs.length === runs) await new Promise((done) => setTimeout(done, 5));
    service.sandbox.answer = () => returned('{"total":7}');
    const parallel = await Promise.all([
      service.post('/v1/compute', { ...step, result_schema: { required: ['total'] } }),
      service.post('/v1/compute', step),
      service.get('/healthz').finally(() => order.push('parallel')),
    ]);
    expect(parallel.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(parallel[0].json).toMatchObject({ state: 'succeeded', result: { total: 7 } });
    const { json } = await hostile;
    expect(json).toMatchObject({
      state: 'failed',
      failure: { code: 'result_schema_timeout', path: '$' },
      metered: { compute_runs: 1 },
    });
    expect(order).toEqual(['parallel', 'hostile']);
  });

  it('does not make the next check with another schema fail', async () => {
    service.sandbox.answer = () => returned(`"${'a'.repeat(40)}!"`);
    await service.post('/v1/compute', { ...step, result_schema: { pattern: '^(a+)+$' } });
    service.sandbox.answer = () => returned('"aaa"');
    const { json } = await service.post('/v1/compute', { ...step, result_schema: { pattern: '^a+$' } });
    expect(json.state).toBe('succeeded');
  });
});

describe('a function that turns a value into a key or an index', () => {
  const POSITION = 7391;
  const canary = canaries.text();
  const odd = JSON.stringify(canaries.oddText());
  const key = JSON.stringify(canary);
  const far = (last: string) => `[${'0,'.repeat(POSITION)}${last}]`;

  it.each<[string, string, object, string]>([
    ['type below an undeclared key', `{${key}:1}`, { additionalProperties: { type: 'string' } }, '$.*'],
    ['an odd key', `{${odd}:1}`, { additionalProperties: { type: 'string' } }, '$.*'],
    [
      'a key under a declared one',
      `{"by":{${key}:1}}`,
      { properties: { by: { additionalProperties: false } } },
      '$.by',
    ],
    [
      'a key two below',
      `{"by":{${key}:{${odd}:1}}}`,
      { properties: { by: { additionalProperties: { additionalProperties: { type: 'null' } } } } },
      '$.by.*.*',
    ],
    ['additionalProperties false', `{${key}:1}`, { additionalProperties: false }, '$'],
    ['unevaluatedProperties false', `{${key}:1}`, { unevaluatedProperties: false }, '$'],
    ['propertyNames', `{${key}:1}`, { propertyNames: { maxLength: 3 } }, '$'],
    ['patternProperties', `{${key}:1}`, { patternProperties: { '^cnry': { type: 'string' } } }, '$.*'],
    ['required beside it', `{${key}:1}`, { required: ['total'] }, '$'],
    ['dependentRequired', `{"a":1,${key}:1}`, { dependentRequired: { a: ['b'] } }, '$'],
    ['maxProperties', `{${key}:1}`, { maxProperties: 0 }, '$'],
    ['const', key, { const: 'other' }, '$'],
    ['enum', key, { enum: ['other', 5] }, '$'],
    ['pattern', key, { pattern: '^[0-9]$' }, '$'],
    ['maxLength', key, { maxLength: 3 }, '$'],
    ['a number past maximum', canaries.integer(), { maximum: 5 }, '$'],
    ['exclusiveMinimum', canaries.integer(), { exclusiveMinimum: 1e60 }, '$'],
    ['an index', far('"x"'), { items: { type: 'integer' } }, '$[]'],
    [
      'an index and a key',
      far(`{${key}:[1]}`),
      { items: { additionalProperties: { items: { type: 'string' } } } },
      '$[].*[]',
    ],
    ['uniqueItems', far('0'), { uniqueItems: true }, '$'],
    ['contains', far('0'), { contains: { const: 9 } }, '$'],
    ['maxItems', far('0'), { maxItems: 3 }, '$'],
    [
      'anyOf',
      `{${key}:1}`,
      { anyOf: [{ additionalProperties: { type: 'string' } }, { additionalProperties: { type: 'null' } }] },
      '$',
    ],
    ['not', `{${key}:1}`, { not: { type: 'object' } }, '$'],
    [
      'a key declared elsewhere',
      `{"a":{"b":1}}`,
      { properties: { b: {} }, additionalProperties: { additionalProperties: { type: 'null' } } },
      '$.*.*',
    ],
  ])('gets it neither into path nor into a message: %s', async (_, result, schema, path) => {
    service.sandbox.answer = () => returned(result);
    const answer = await service.post('/v1/compute', { ...step, result_schema: schema });
    expect(answer.json).toMatchObject({ state: 'failed', failure: { code: 'result_type_mismatch', path } });
    expect(canaries.find(answer.text)).toEqual([]);
    // The position, and what was there, too.
    expect(JSON.stringify(answer.json.failure)).not.toMatch(new RegExp(`${POSITION}`));
    expect(JSON.stringify(service.finished)).not.toContain(canary);
  });

  it.each<[string, readonly (string | number)[], string]>([
    ['a key', [canary, 'x'], '$.*.*'],
    ['an index', [POSITION], '$[]'],
    ['a key that looks like an index', [String(POSITION)], '$.*'],
  ])('nor into the path of what is no JSON: %s', async (_, path, shown) => {
    service.sandbox.answer = () => ({
      kind: 'notJson',
      notJson: { path: [...path], pythonType: 'set' },
      usage: FAKE_USAGE,
    });
    const answer = await service.post('/v1/compute', step);
    expect(answer.json.failure).toMatchObject({ code: 'result_not_json', path: shown, got: 'set' });
    expect(canaries.find(answer.text)).toEqual([]);
    expect(JSON.stringify(answer.json.failure)).not.toMatch(new RegExp(`${POSITION}`));
  });

  it('shows the keys that the schema declares, so that the path is of use', async () => {
    service.sandbox.answer = () => returned('{"rows":[{"total":"x"}]}');
    const item = { properties: { total: { type: 'number' } } };
    const { json } = await service.post('/v1/compute', {
      ...step,
      result_schema: { properties: { rows: { items: item } } },
    });
    expect(json.failure).toMatchObject({ path: '$.rows[].total', wanted: 'number', got: 'string' });
  });
});

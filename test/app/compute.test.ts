import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ComputationSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const checkComputation = faultChecker(ComputationSchema);
const sources = [{ tool: 'list_orders', name: 'orders', result: [{ price: 20 }, { price: 30 }] }];
const body = { step: 'the average price of my orders', result_type: 'number', sources };

let service: TestService;
let answer = 'def compute(data):\n    return 42\n';
beforeAll(async () => {
  service = await startTestService({ answer: () => answer, tenant: { allow_detail: true } });
});
afterEach(() => {
  service.sandbox.answer = () => returned('42');
  answer = 'def compute(data):\n    return 42\n';
});
afterAll(() => service.close());

describe('POST /v1/compute', () => {
  it('answers a Computation that fits its schema, with the result of the run', async () => {
    const { status, json, headers } = await service.post('/v1/compute', body);
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('application/json');
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'succeeded',
      result: 42,
      result_type: 'number',
      admission: { admitted: true },
      failure: null,
      function: { source: 'model' },
      metered: { compute_runs: 1, compute_seconds: 1 },
      sandbox: { wall_seconds: 0.012, exit_code: 0, image: 'sha256:fake' },
    });
    expect(json.attempts).toEqual([{ code_sha256: json.code_sha256, admission: { admitted: true } }]);
    expect(json.prompt.text).toBe(`${json.prompt.system}\n\n${json.prompt.user}`);
    expect(json.function.code).toBeUndefined();
  });

  it('tells the quota as of the settling of its run, and reads it anew only where none was settled', async () => {
    const asked = service.ledgerOps.length;
    const { json } = await service.post('/v1/compute', body);
    expect(service.ledgerOps.slice(asked)).toEqual(['open', 'started', 'settle']);
    answer = 'import socket\n\ndef compute(data):\n    return 1\n';
    const { quota } = (await service.post('/v1/compute', { ...body, repair: { max_attempts: 1 } })).json;
    expect(service.ledgerOps.slice(asked + 3)).toEqual(['open', 'release', 'usage']);
    expect(json.quota).toEqual(quota);
    const { compute_runs } = (await service.get('/v1/usage')).json;
    expect(quota.compute_runs.used).toBe(compute_runs.used);
    expect(compute_runs.used).toBeGreaterThan(0);
  });

  it('gives the same id to the answer, the webhook and the ledger', async () => {
    const { json } = await service.post('/v1/compute', body);
    expect(service.model.requests.at(-1)?.json.id).toBe(json.id);
    expect(service.finished.at(-1)?.id).toBe(json.id);
    expect(json.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it('hands the sandbox the bytes of the sources as they came', async () => {
    await service.post(
      '/v1/compute',
      `{"step":"x","sources":[{"name":"a","result": [9007199254740993, 1.10,"\\u00e9"] },{"result_json":"{\\"k\\": 1e2}"}]}`,
    );
    expect(service.sandbox.runs.at(-1)?.data).toBe(
      '{"a":[9007199254740993, 1.10,"\\u00e9"],"source_2":{"k": 1e2}}',
    );
  });

  it('relays the digits of the result as Python wrote them', async () => {
    const digits = String(2n ** 200n);
    service.sandbox.answer = () => returned(`[9007199254740993,${digits},0.1,1.10,-0.0,"\\u0000"]`);
    const { text } = await service.post('/v1/compute', { ...body, result_type: 'array' });
    expect(text).toContain(`"result":[9007199254740993,${digits},0.1,1.10,-0.0,"\\u0000"]`);
  });

  it('shows the model names and types, and no value', async () => {
    const canary = 'canary-7f3a';
    await service.post('/v1/compute', {
      step: 'x',
      sources: [{ name: 'people', result: [{ name: canary, age: 4141414141 }] }],
    });
    const sent = service.model.requests.at(-1);
    const bytes = sent?.body.toString() ?? '';
    expect(bytes).toContain('people');
    expect(bytes).toContain('age');
    expect(bytes).not.toContain(canary);
    expect(bytes).not.toContain('4141414141');
  });

  it('answers not_admitted with rule, line and hint, runs and counts nothing', async () => {
    answer = 'import socket\n\ndef compute(data):\n    return 1\n';
    const before = service.sandbox.runs.length;
    const { status, json } = await service.post('/v1/compute', body);
    expect(status).toBe(200);
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'not_admitted',
      admission: { admitted: false, rule_id: 'import', rule: 'import: socket', line: 1 },
      failure: { code: 'code_not_admitted' },
      code_sha256: '',
      sandbox: null,
      metered: { compute_runs: 0, compute_seconds: 0 },
    });
    expect(json.admission.hint).not.toBe('');
    expect(json.result).toBeUndefined();
    expect(service.sandbox.runs.length).toBe(before);
  });

  it.each([
    [
      'raised',
      {
        kind: 'raised',
        exception: 'ZeroDivisionError',
        line: 2,
        text: 'secret',
        printed: null,
        usage: FAKE_USAGE,
      },
      { code: 'exception', exception: 'ZeroDivisionError', line: 2 },
    ],
    ['timeout', { kind: 'killed', reason: 'timeout', usage: FAKE_USAGE }, { code: 'timeout' }],
    [
      'out_of_memory',
      { kind: 'killed', reason: 'out_of_memory', usage: FAKE_USAGE },
      { code: 'out_of_memory' },
    ],
    ['crash', { kind: 'killed', reason: 'sandbox_crashed', usage: FAKE_USAGE }, { code: 'sandbox_crashed' }],
    [
      'lost',
      { kind: 'killed', reason: 'sandbox_lost', usage: FAKE_USAGE },
      { code: 'sandbox_lost', retryable: true },
    ],
    [
      'too large',
      { kind: 'killed', reason: 'output_too_large', usage: FAKE_USAGE },
      { code: 'output_too_large' },
    ],
    [
      'not JSON',
      { kind: 'notJson', notJson: { path: ['bob@corp.com', 3], pythonType: 'set' }, usage: FAKE_USAGE },
      { code: 'result_not_json', path: '$.*[]', got: 'set' },
    ],
    ['wrong type', returned('"text"'), { code: 'result_type_mismatch', path: '$', got: 'string' }],
  ] as const)('reports a run that ended as %s, and counts it', async (_name, report, failure) => {
    service.sandbox.answer = () => report;
    const { status, json, text } = await service.post('/v1/compute', body);
    expect(status).toBe(200);
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'failed',
      failure,
      metered: { compute_runs: 1, compute_seconds: 1 },
    });
    expect(json.result).toBeUndefined();
    expect(text).not.toContain('secret');
    expect(text).not.toContain('bob@corp.com');
  });

  it('counts nothing for a sandbox that could not start after all', async () => {
    service.sandbox.answer = () => ({ kind: 'notStarted', reason: 'sandbox_unavailable', detail: 'x' });
    const { status, json } = await service.post('/v1/compute', body);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      state: 'failed',
      failure: { code: 'sandbox_unavailable', retryable: true },
      // For /run, without paying the model again.
      function: { source: 'model', code: answer },
      sandbox: null,
      metered: { compute_runs: 0, compute_seconds: 0 },
    });
  });

  it.each([
    ['overloaded', '1'],
    ['ledger_unavailable', '5'],
  ] as const)(
    'gives the function back with %s, so that the model need not be paid again',
    async (reason, seconds) => {
      service.sandbox.answer = () => ({ kind: 'notStarted', reason, detail: 'x' });
      const { status, json, headers } = await service.post('/v1/compute', body);
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe(seconds);
      expect(json).toMatchObject({ code: reason, function: { code: answer } });
      expect(json.code_sha256).toMatch(/^[0-9a-f]{64}$/);
    },
  );

  it('shows code and detail only where they are asked for', async () => {
    service.sandbox.answer = () => returned('42', 'printed text');
    const { json } = await service.post('/v1/compute', { ...body, include: ['code', 'detail'] });
    expect(json.function.code).toBe(answer);
    expect(json.detail).toEqual({ printed: 'printed text' });
    expect(service.sandbox.runs.at(-1)?.limits.detailMaxBytes).toBe(8192);
    await service.post('/v1/compute', body);
    expect(service.sandbox.runs.at(-1)?.limits.detailMaxBytes).toBe(0);
  });

  it('takes limits up to the operator’s', async () => {
    await service.post('/v1/compute', { ...body, limits: { wall_seconds: 2.5, memory_mb: 64 } });
    expect(service.sandbox.runs.at(-1)?.limits).toMatchObject({ wallMs: 2500, memoryMb: 64 });
  });

  it('takes a plan’s item as it stands', async () => {
    const { json } = await service.post('/v1/compute', {
      step: { id: 7, instruction: 'sum', result_type: 'integer', depends_on: ['a'] },
      sources,
    });
    expect(json).toMatchObject({ state: 'succeeded', result: 42, result_type: 'integer' });
  });

  it.each(['cancelled', 'timeout'] as const)(
    'ends the run, whatever the sandbox calls it (%s), and answers 504 when the deadline passes, and counts the run',
    async (reason) => {
      service.sandbox.answer = (_run, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ kind: 'killed', reason, usage: FAKE_USAGE }));
        });
      const { status, json } = await service.post('/v1/compute', { ...body, timeout_seconds: 0.2 });
      expect(status).toBe(504);
      expect(json.code).toBe('deadline_exceeded');
      expect(service.finished.at(-1)).toMatchObject({
        outcome: 'deadline_exceeded',
        metered: { computeRuns: 1 },
      });
      const usage = (await service.get('/v1/usage')).json;
      expect(usage.open_permits).toBe(0);
    },
  );

  it('answers a timeout where the function spent its own limit, although the deadline has passed since', async () => {
    service.sandbox.answer = (_run, signal) =>
      new Promise((resolve) => {
        const usage = { ...FAKE_USAGE, wallNs: 150_000_000n };
        signal.addEventListener('abort', () => resolve({ kind: 'killed', reason: 'timeout', usage }));
      });
    const limits = { wall_seconds: 0.15 };
    const { status, json } = await service.post('/v1/compute', { ...body, limits, timeout_seconds: 0.2 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ state: 'failed', failure: { code: 'timeout' } });
  });
});

describe('POST /v1/compute/run', () => {
  const code = 'def compute(data):\r\n    return 1';

  it('runs the caller’s own function without asking a model', async () => {
    const asked = service.model.requests.length;
    const { json } = await service.post('/v1/compute/run', { code, sources });
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({ state: 'succeeded', function: { source: 'caller' }, prompt: null });
    expect(service.sandbox.runs.at(-1)?.text).toBe('def compute(data):\n    return 1\n');
    expect(service.model.requests.length).toBe(asked);
  });

  it('refuses a function that is not the approved one, before anything runs', async () => {
    const runs = service.sandbox.runs.length;
    const { json: first } = await service.post('/v1/compute/run', { code, sources });
    const same = await service.post('/v1/compute/run', {
      code,
      sources,
      expect_code_sha256: first.code_sha256,
    });
    expect(same.status).toBe(200);
    const other = await service.post('/v1/compute/run', {
      code,
      sources,
      expect_code_sha256: 'a'.repeat(64),
    });
    expect(other.status).toBe(409);
    expect(other.json).toMatchObject({ code: 'code_mismatch', code_sha256: first.code_sha256 });
    expect(service.sandbox.runs.length).toBe(runs + 2);
  });
});

describe('the routes that run nothing', () => {
  it('shows the very prompt that /v1/compute sends', async () => {
    const asked = service.model.requests.length;
    const dry = (await service.post('/v1/compute/prompt', body)).json;
    expect(service.model.requests.length).toBe(asked);
    const wet = (await service.post('/v1/compute', body)).json;
    expect(dry.prompt).toEqual(wet.prompt);
    expect(dry.prompt_pack_digest).toBe(wet.prompt_pack_digest);
    expect(service.model.requests.at(-1)?.json.prompt).toBe(dry.prompt.text);
  });

  it('gives the verdict of admission, and with ?all=true every refusal', async () => {
    const good = (await service.post('/v1/compute/admit', { code: 'def compute(data):\n    return 1\n' }))
      .json;
    expect(good.admission).toEqual({ admitted: true });
    expect(good.code_sha256).toMatch(/^[0-9a-f]{64}$/);
    const bad = { code: 'import os\nimport sys\n\ndef compute(data):\n    return 1\n' };
    expect((await service.post('/v1/compute/admit', bad)).json).toMatchObject({
      admission: { admitted: false, rule_id: 'import', line: 1 },
      code_sha256: '',
    });
    const all = (await service.post('/v1/compute/admit?all=true', bad)).json;
    expect(all.refusals.map((refusal: { line: number }) => refusal.line)).toEqual([1, 2]);
  });

  it('answers usage, capabilities and the pack', async () => {
    const usage = (await service.get('/v1/usage')).json;
    expect(usage).toMatchObject({ tenant: 'acme', compute_runs: { limit: 1000 }, open_permits: 0 });
    expect(usage.compute_runs.used + usage.compute_runs.remaining).toBe(1000);
    const [year] = usage.month.split('-');
    expect((await service.get(`/v1/usage/${Number(year) - 1}-01`)).json.compute_runs.used).toBe(0);
    const capabilities = (await service.get('/v1/capabilities')).json;
    expect(capabilities).toMatchObject({ compute: 'run', limits: { wall_seconds: 10 } });
    expect(capabilities.modules).toContain('statistics');
    const pack = (await service.get('/v1/prompt-pack')).json;
    expect(pack.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(pack.modules.math).toContain('sqrt');
  });
});

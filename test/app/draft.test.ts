import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DraftSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const checkDraft = faultChecker(DraftSchema);
const GOOD = 'def compute(data):\n    return 42\n';
const REFUSED = 'import socket\n\ndef compute(data):\n    return 1\n';
const step = { step: 'sum', result_type: 'number', sources: [{ name: 'orders', result: [1, 2] }] };

let service: TestService;
let reply = GOOD;
beforeEach(async () => {
  reply = GOOD;
  service = await startTestService({ answer: () => reply });
});
afterEach(() => service.close());

describe('POST /v1/compute/draft', () => {
  it('gives the function, its digest and the prompt, and runs and counts nothing', async () => {
    const { status, json, headers } = await service.post('/v1/compute/draft', step);
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('application/json');
    expect(checkDraft(json)).toEqual([]);
    const digest = createHash('sha256').update(GOOD).digest('hex');
    expect(json).toMatchObject({
      state: 'admitted',
      code: GOOD,
      code_sha256: digest,
      admission: { admitted: true },
      failure: null,
      attempts: [{ code_sha256: digest, admission: { admitted: true } }],
    });
    expect(json.prompt).toEqual((await service.post('/v1/compute/prompt', step)).json.prompt);
    expect(service.sandbox.runs).toHaveLength(0);
    expect((await service.get('/v1/usage')).json).toMatchObject({
      compute_runs: { used: 0 },
      open_permits: 0,
      outcomes: {},
    });
    expect(service.finished.at(-1)).toMatchObject({ note: 'draft: nothing was run', codeSha256: digest });
  });

  it('gives a function that /run takes by its digest, and no other', async () => {
    const draft = (await service.post('/v1/compute/draft', step)).json;
    const run = { code: draft.code, sources: step.sources, expect_code_sha256: draft.code_sha256 };
    expect((await service.post('/v1/compute/run', run)).json).toMatchObject({
      state: 'succeeded',
      result: 42,
    });
    const changed = await service.post('/v1/compute/run', { ...run, code: `${draft.code}\n# more\n` });
    expect(changed.status).toBe(409);
    expect(changed.json.code).toBe('code_mismatch');
  });

  it('is not_admitted with the verdict and the function that was refused, after the repair', async () => {
    reply = REFUSED;
    const { status, json } = await service.post('/v1/compute/draft', step);
    expect(status).toBe(200);
    expect(checkDraft(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'not_admitted',
      code: REFUSED,
      code_sha256: '',
      admission: { rule: 'import: socket' },
      failure: { code: 'code_not_admitted' },
    });
    expect(json.attempts).toHaveLength(2);
  });

  it('takes whatever /v1/compute takes, and refuses what it refuses', async () => {
    const body = {
      ...step,
      limits: { wall_seconds: 1, memory_mb: 64 },
      include: ['code'],
      timeout_seconds: 5,
      repair: { max_attempts: 3 },
      cache: 'use',
    };
    expect((await service.post('/v1/compute/draft', body)).status).toBe(200);
    expect((await service.post('/v1/compute/draft', { ...body, limits: { wall_seconds: 99 } })).status).toBe(
      400,
    );
  });

  it('needs no sandbox', async () => {
    service.sandbox.ready = [{ check: 'engine', ok: false, detail: 'away' }];
    expect((await service.post('/v1/compute/draft', step)).status).toBe(200);
  });

  it('fails as the model does', async () => {
    reply = 'I would rather not.';
    const { status, json } = await service.post('/v1/compute/draft', step);
    expect(status).toBe(502);
    expect(json).toMatchObject({ code: 'model_failed', reason: 'no_function' });
  });

  it('is 429 before the model is asked where the quota is spent', async () => {
    const own = await startTestService({ tenant: { quotas: { compute_runs: 1, compute_seconds: null } } });
    expect((await own.post('/v1/compute/draft', step)).status).toBe(200);
    expect((await own.post('/v1/compute', step)).status).toBe(200);
    const spent = await own.post('/v1/compute/draft', step);
    expect(spent.status).toBe(429);
    expect(spent.json).toMatchObject({ code: 'quota_exceeded', meter: 'compute_runs' });
    expect(own.model.requests).toHaveLength(2);
    await own.close();
  });

  it('answers a repeated Idempotency-Key without a second model call', async () => {
    const keyed = { 'idempotency-key': 'd-1' };
    const first = await service.post('/v1/compute/draft', step, keyed);
    const second = await service.post('/v1/compute/draft', step, keyed);
    expect(second.text).toBe(first.text);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(service.model.requests).toHaveLength(1);
  });
});

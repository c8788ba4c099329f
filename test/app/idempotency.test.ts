import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const step = { step: 'sum', sources: [{ name: 'orders', result: [1] }] };
const run = { code: 'def compute(data):\n    return 1\n', sources: [{ result: 1 }] };
const keyed = { 'idempotency-key': 'k-1' };

let service: TestService;
let reply = 'def compute(data):\n    return 42\n';
beforeEach(async () => {
  service = await startTestService({ answer: () => reply });
});
afterEach(async () => {
  reply = 'def compute(data):\n    return 42\n';
  await service.close();
});

async function runsCounted(): Promise<number> {
  return (await service.get('/v1/usage')).json.compute_runs.used;
}

describe('Idempotency-Key', () => {
  it('gives the same answer again, with no second model call, run or count', async () => {
    const first = await service.post('/v1/compute', step, keyed);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    const second = await service.post('/v1/compute', step, keyed);
    expect(second.text).toBe(first.text);
    expect(second.status).toBe(200);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.headers['content-type']).toBe(first.headers['content-type']);
    expect(service.model.requests).toHaveLength(1);
    expect(service.sandbox.runs).toHaveLength(1);
    expect(await runsCounted()).toBe(1);
  });

  it('lets one of fifty simultaneous requests run', async () => {
    service.sandbox.answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return returned('1');
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => service.post('/v1/compute/run', run, keyed)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 49 }, () => 409)]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.json).toMatchObject({ code: 'idempotency_in_flight', retryable: true });
    expect(refused?.headers['retry-after']).toBe('1');
    expect(service.sandbox.runs).toHaveLength(1);
    expect(await runsCounted()).toBe(1);
  });

  it('is 422 for another body, and for another path', async () => {
    await service.post('/v1/compute/run', run, keyed);
    const other = await service.post('/v1/compute/run', { ...run, result_type: 'integer' }, keyed);
    expect(other.status).toBe(422);
    expect(other.json.code).toBe('idempotency_key_reused');
    expect((await service.post('/v1/compute', step, keyed)).status).toBe(422);
  });

  it('keeps a failed run, which counted', async () => {
    service.sandbox.answer = () => ({ kind: 'killed', reason: 'timeout', usage: FAKE_USAGE });
    const first = await service.post('/v1/compute/run', run, keyed);
    service.sandbox.answer = () => returned('1');
    expect((await service.post('/v1/compute/run', run, keyed)).text).toBe(first.text);
    expect(await runsCounted()).toBe(1);
  });

  it('keeps a cancelled run as well, which may do better under a new key, and counts again there', async () => {
    service.sandbox.answer = () => ({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE });
    const first = await service.post('/v1/compute/run', run, keyed);
    expect(first.json.failure).toMatchObject({ code: 'cancelled', retryable: true });
    service.sandbox.answer = () => returned('1');
    expect((await service.post('/v1/compute/run', run, keyed)).text).toBe(first.text);
    const anew = await service.post('/v1/compute/run', run, { 'idempotency-key': 'k-2' });
    expect(anew.json.state).toBe('succeeded');
    expect(await runsCounted()).toBe(2);
  });

  it('keeps a deadline that passed in a run, which counted', async () => {
    service.sandbox.answer = (_run, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () =>
          resolve({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE }),
        );
      });
    const late = { ...run, timeout_seconds: 0.2 };
    expect((await service.post('/v1/compute/run', late, keyed)).status).toBe(504);
    service.sandbox.answer = () => returned('1');
    const again = await service.post('/v1/compute/run', late, keyed);
    expect(again.status).toBe(504);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(await runsCounted()).toBe(1);
  });

  it('is free again after an answer that counted nothing', async () => {
    reply = 'import os\n\ndef compute(data):\n    return 1\n';
    expect((await service.post('/v1/compute', step, keyed)).json.state).toBe('not_admitted');
    reply = 'def compute(data):\n    return 1\n';
    const again = await service.post('/v1/compute', step, keyed);
    expect(again.json.state).toBe('succeeded');
    expect(again.headers['idempotency-replayed']).toBeUndefined();
    const bad = { ...step, result_type: 'nonsense' };
    expect((await service.post('/v1/compute', bad, { 'idempotency-key': 'k-2' })).status).toBe(400);
    expect((await service.post('/v1/compute', step, { 'idempotency-key': 'k-2' })).status).toBe(200);
  });

  it('is free again after a fault of the service', async () => {
    service.sandbox.answer = () => {
      throw new Error('bug');
    };
    expect((await service.post('/v1/compute/run', run, keyed)).status).toBe(500);
    service.sandbox.answer = () => returned('1');
    // The run of the first request may have started; the ledger decides what its key leads to.
    expect([200, 409]).toContain((await service.post('/v1/compute/run', run, keyed)).status);
  });

  it('must be printable and short', async () => {
    for (const key of ['', 'x'.repeat(256), 'ä']) {
      const answer = await service.post('/v1/compute/run', run, { 'idempotency-key': key });
      expect(answer.status).toBe(400);
      expect(answer.json.detail).toContain('Idempotency-Key');
    }
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../fakes/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ tenant: { quotas: { compute_runs: 2, compute_seconds: null } } });
});
afterAll(() => service.close());

const run = { code: 'def compute(data):\n    return 1\n', sources: [{ result: 1 }] };

it('counts down on the answers of a step and of a run, and on the 429 that ends it', async () => {
  const answers = [
    await service.post('/v1/compute', { step: 'x', sources: [{ result: 1 }] }),
    await service.post('/v1/compute/run', run),
    await service.post('/v1/compute/run', run),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers.map(({ headers }) => String(headers.ratelimit).split(';t=')[0])).toEqual([
    '"compute_runs";r=1',
    '"compute_runs";r=0',
    '"compute_runs";r=0',
  ]);
  for (const { headers } of answers) {
    expect(headers['ratelimit-policy']).toMatch(/^"compute_runs";q=2;qu="requests";w=\d{7}$/);
  }
  const last = answers[2];
  expect(String(last?.headers.ratelimit).split(';t=')[1]).toBe(last?.headers['retry-after']);
});

it('says nothing on an answer that knows no quota', async () => {
  const { status, headers } = await service.post('/v1/compute/run', '{');
  expect(status).toBe(400);
  expect(headers.ratelimit).toBeUndefined();
});

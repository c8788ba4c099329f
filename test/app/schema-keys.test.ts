import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ComputationSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { answersInTurn, type ScriptedAnswer } from '../fakes/scripted-model.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const checkComputation = faultChecker(ComputationSchema);
const MISSPELT = 'def compute(data):\n    return sum(o["pric"] for o in data["orders"])\n';
const RIGHT = 'def compute(data):\n    return sum(o["price"] for o in data["orders"])\n';
const sources = [{ name: 'orders', result: [{ price: 4141414141 }, { price: 2 }] }];
const step = { step: 'sum', result_type: 'number', sources };

let service: TestService;
let script: () => ScriptedAnswer;
beforeEach(async () => {
  service = await startTestService({ answer: () => script() });
});
afterEach(() => service.close());

const answers = (...given: readonly ScriptedAnswer[]) => {
  script = answersInTurn(...given);
};
const usage = async () => (await service.get('/v1/usage')).json;

describe('a key that the data does not have', () => {
  it('is a repair and not a wasted run', async () => {
    answers(MISSPELT, RIGHT);
    const { json } = await service.post('/v1/compute', step);
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'succeeded',
      attempts: [
        {
          admission: {
            admitted: false,
            rule_id: 'schema-keys',
            rule: 'schema-keys: pric',
            line: 2,
            column: 17,
            message: 'orders[] has no field of this name.',
            hint: 'Use "price".',
          },
        },
        { admission: { admitted: true } },
      ],
    });
    expect(service.sandbox.runs).toHaveLength(1);
    expect(await usage()).toMatchObject({ compute_runs: { used: 1 } });
    const refusal = service.model.requests[1]?.json.refusal as { text: string };
    expect(refusal.text).toContain('Use "price".');
    expect(service.model.requests.map(({ body }) => String(body)).join()).not.toContain('4141414141');
  });

  it('counts nothing where the model is not asked again', async () => {
    answers(MISSPELT);
    const { json } = await service.post('/v1/compute', { ...step, repair: { max_attempts: 1 } });
    expect(json).toMatchObject({
      state: 'not_admitted',
      admission: { rule: 'schema-keys: pric' },
      failure: { code: 'code_not_admitted' },
      metered: { compute_runs: 0 },
    });
    expect(service.sandbox.runs).toHaveLength(0);
    expect(await usage()).toMatchObject({ compute_runs: { used: 0 }, open_permits: 0 });
  });

  it('is repaired in a draft and in a function that is kept', async () => {
    answers(MISSPELT, RIGHT);
    const draft = await service.post('/v1/compute/draft', step);
    expect(draft.json).toMatchObject({ state: 'admitted', code: RIGHT });
    answers(MISSPELT, RIGHT);
    const kept = { ...step, cache: 'use' };
    expect((await service.post('/v1/compute', kept)).json.attempts).toHaveLength(2);
    expect((await service.post('/v1/compute', kept)).json).toMatchObject({
      state: 'succeeded',
      function: { source: 'cache' },
    });
    expect(service.sandbox.runs).toHaveLength(2);
  });

  it('is no matter to a function that a caller has, which was shown no schema', async () => {
    const admitted = await service.post('/v1/compute/admit', { code: MISSPELT });
    expect(admitted.json).toMatchObject({ admission: { admitted: true } });
    const { json } = await service.post('/v1/compute/run', {
      code: MISSPELT,
      sources,
      result_type: 'number',
    });
    expect(json.admission).toEqual({ admitted: true });
    expect(service.sandbox.runs).toHaveLength(1);
  });
});

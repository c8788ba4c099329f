import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ComputationSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { FAKE_USAGE } from '../fakes/sandbox.ts';
import { answersInTurn, type ScriptedAnswer } from '../fakes/scripted-model.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const checkComputation = faultChecker(ComputationSchema);
const GOOD = 'def compute(data):\n    return 42\n';
const SOCKET = 'import socket\n\ndef compute(data):\n    return open(data)\n';
const OPEN = 'def compute(data):\n    return open(data)\n';
const sources = [{ name: 'orders', result: [{ price: 4141414141 }] }];
const step = { step: 'sum', result_type: 'number', sources };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

let service: TestService;
let script: () => ScriptedAnswer;
beforeEach(async () => {
  service = await startTestService({ answer: () => script() });
});
afterEach(() => service.close());

const answers = (...given: readonly ScriptedAnswer[]) => {
  script = answersInTurn(...given);
};
const asked = () => service.model.requests.map(({ json }) => json);
const uncounted = { compute_runs: { used: 0 }, open_permits: 0 };

describe('a function that is refused', () => {
  it('goes back once by default, with the function and what to do, and the next one runs', async () => {
    answers(SOCKET, GOOD);
    const { status, json } = await service.post('/v1/compute', step);
    expect(status).toBe(200);
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'succeeded',
      result: 42,
      admission: { admitted: true },
      code_sha256: sha256(GOOD),
      function: { source: 'model' },
    });
    expect(json.attempts).toEqual([
      { code_sha256: sha256(SOCKET), admission: expect.objectContaining({ rule: 'import: socket' }) },
      { code_sha256: sha256(GOOD), admission: { admitted: true } },
    ]);
    const [first, second] = asked();
    expect(first).not.toHaveProperty('refusal');
    expect(second).toMatchObject({
      id: json.id,
      attempt: 2,
      prompt: first?.prompt,
      refusal: {
        code: SOCKET,
        rule_id: 'import',
        rule: 'import: socket',
        line: 1,
        column: 7,
        message: json.attempts[0].admission.message,
        hint: json.attempts[0].admission.hint,
        others: [expect.objectContaining({ rule: 'name: open', line: 4 })],
        text: expect.stringContaining('Line 1, column 7: import socket'),
      },
    });
    expect(service.model.requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      json.id,
      `${json.id}-2`,
    ]);
    expect(service.finished.at(-1)).toMatchObject({ outcome: 'succeeded', attempts: 2 });
  });

  it('goes back as often as it was asked, each time with the last one', async () => {
    answers(SOCKET, OPEN, SOCKET, OPEN, GOOD);
    const { json } = await service.post('/v1/compute', { ...step, repair: { max_attempts: 5 } });
    expect(json.state).toBe('succeeded');
    expect(json.attempts).toHaveLength(5);
    expect(asked().map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(asked().map(({ refusal }) => (refusal as { code?: string } | undefined)?.code)).toEqual([
      undefined,
      SOCKET,
      OPEN,
      SOCKET,
      OPEN,
    ]);
  });

  it('is not_admitted with the last verdict and every attempt once the attempts are spent', async () => {
    answers(SOCKET, OPEN, GOOD);
    const { status, json } = await service.post('/v1/compute', { ...step, include: ['code'] });
    expect(status).toBe(200);
    expect(checkComputation(json)).toEqual([]);
    expect(json).toMatchObject({
      state: 'not_admitted',
      admission: { rule: 'name: open', line: 2 },
      failure: { code: 'code_not_admitted' },
      code_sha256: '',
      function: { code: OPEN },
      metered: { compute_runs: 0 },
    });
    expect(json.attempts.map((each: { code_sha256: string }) => each.code_sha256)).toEqual([
      sha256(SOCKET),
      sha256(OPEN),
    ]);
    expect(service.sandbox.runs).toHaveLength(0);
    expect((await service.get('/v1/usage')).json).toMatchObject(uncounted);
  });

  it('does not go back where repair is switched off', async () => {
    answers(SOCKET, GOOD);
    const { json } = await service.post('/v1/compute', { ...step, repair: { max_attempts: 1 } });
    expect(json).toMatchObject({ state: 'not_admitted', admission: { rule: 'import: socket' } });
    expect(asked()).toHaveLength(1);
  });

  it.each(['openai', 'anthropic'] as const)('is a longer conversation for %s', async (format) => {
    answers(SOCKET, 'No idea, sorry.', GOOD);
    const model = { url: service.model.url, format, name: 'a-model', parameters: { max_tokens: 100 } };
    const own = await startTestService({ operatorModel: model, allowedHosts: [service.model.hostPort] });
    const { json } = await own.post('/v1/compute', { ...step, repair: { max_attempts: 3 } });
    await own.close();
    expect(json.state).toBe('succeeded');
    const [first, second, third] = asked().map(
      ({ messages }) => messages as readonly { role: string; content: string }[],
    );
    expect(second?.slice(0, -2)).toEqual(first);
    expect(third?.slice(0, -2)).toEqual(second);
    expect(third?.slice(-4)).toEqual([
      { role: 'assistant', content: SOCKET },
      { role: 'user', content: expect.stringContaining('Line 1, column 7: import socket') },
      { role: 'assistant', content: 'No idea, sorry.' },
      { role: 'user', content: expect.stringContaining('no Python function') },
    ]);
  });
});

describe('a reply without a function', () => {
  it.each([
    ['says something else', 'I cannot see your data.'],
    ['says nothing', ''],
  ])('that %s goes back too', async (_name, said) => {
    answers(said, GOOD);
    const { json } = await service.post('/v1/compute', step);
    expect(checkComputation(json)).toEqual([]);
    expect(json.state).toBe('succeeded');
    expect(json.attempts[0]).toMatchObject({
      code_sha256: '',
      admission: { admitted: false, rule_id: 'structure', hint: expect.stringContaining('def compute') },
    });
    expect(asked()[1]?.refusal).toMatchObject({ code: said, rule_id: 'structure', others: [] });
  });

  it('is model_failed once the attempts are spent, with what came before', async () => {
    answers(SOCKET, 'I give up.');
    const { status, json } = await service.post('/v1/compute', step);
    expect(status).toBe(502);
    expect(json).toMatchObject({ code: 'model_failed', reason: 'no_function' });
    expect(json.attempts.map((each: { code_sha256: string }) => each.code_sha256)).toEqual([
      sha256(SOCKET),
      '',
    ]);
    expect((await service.get('/v1/usage')).json).toMatchObject(uncounted);
  });

  it('that would recur is not asked for again', async () => {
    answers({ body: '{"answer": 1}' }, GOOD);
    expect((await service.post('/v1/compute', step)).json).toMatchObject({ reason: 'answer_not_understood' });
    expect(asked()).toHaveLength(1);
  });
});

describe('the rest of a repair', () => {
  it.each([
    [
      'raised',
      {
        kind: 'raised',
        exception: 'KeyError',
        line: 2,
        text: '4141414141',
        printed: '4141414141',
        usage: FAKE_USAGE,
      },
    ],
    [
      'was of the wrong type',
      { kind: 'returned', result: Buffer.from('"x"'), printed: null, usage: FAKE_USAGE },
    ],
    ['ran too long', { kind: 'killed', reason: 'timeout', usage: FAKE_USAGE }],
  ] as const)('stays away from a run that %s: the model is not asked again', async (_name, report) => {
    answers(SOCKET, GOOD);
    service.sandbox.answer = () => report;
    const { json } = await service.post('/v1/compute', { ...step, repair: { max_attempts: 5 } });
    expect(json.state).toBe('failed');
    expect(asked()).toHaveLength(2);
    expect(JSON.stringify(asked())).not.toContain('4141414141');
  });

  it('fails with the webhook, and says what was refused before', async () => {
    answers(SOCKET, { status: 400, body: 'x' });
    const { status, json } = await service.post('/v1/compute', step);
    expect(status).toBe(502);
    expect(json).toMatchObject({ code: 'model_failed', reason: 'http_status', webhook_status: 400 });
    expect(json.attempts).toHaveLength(1);
    expect(service.finished.at(-1)).toMatchObject({ id: json.id, cause: 'http_status 400' });
  });

  it('ends at the one deadline, over all attempts', async () => {
    answers({ text: SOCKET, delayMs: 400 }, { text: OPEN, delayMs: 400 }, { text: GOOD, delayMs: 400 });
    const body = { ...step, repair: { max_attempts: 5 }, timeout_seconds: 1 };
    const { status, json } = await service.post('/v1/compute', body);
    expect(status).toBe(504);
    expect(json.code).toBe('deadline_exceeded');
    expect(json.attempts.length).toBeLessThan(3);
    expect(service.sandbox.runs).toHaveLength(0);
    expect((await service.get('/v1/usage')).json).toMatchObject(uncounted);
  });
});

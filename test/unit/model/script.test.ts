import { describe, expect, test } from 'vitest';
import type { ModelFormat } from '../../../src/model/port.ts';
import { answersOf, readScript, type Script } from '../../../src/model/script.ts';
import { startScriptedModel } from '../../../src/model/scripted.ts';
import type { ScriptedRequest } from '../../../src/model/scripted-request.ts';
import { asking, context, FUNCTION, prompt, target } from './asking.ts';
import { REFUSED, refusedImport } from './repairs.ts';

const request = (user: string, refusal = '') => ({ user, refusal }) as ScriptedRequest;

describe('a script', () => {
  test('takes replies of every kind', () => {
    const script = [
      { when: 'a', replies: ['text', { code: 'x' }, { code: 'x', delay_ms: 5 }, { delay_ms: 5 }] },
      { when_refused: 'import', replies: [{ refusal: 'no' }, { status: 503 }, { hang: true }] },
    ];
    expect(readScript(JSON.stringify(script))).toEqual(script);
  });

  test.each<[string, unknown, string]>([
    ['no list', {}, 'the script'],
    ['an empty list', [], 'the script'],
    ['an entry without replies', [{ when: 'a' }], '[0].replies'],
    ['an entry with none', [{ replies: [] }], '[0].replies'],
    ['an unknown member', [{ replies: ['x'], wen: 'a' }], '[0]'],
    ['a reply of two kinds', [{ replies: [{ code: 'x', status: 200 }] }], '[0].replies[0]'],
    ['a status that is none', [{ replies: [{ status: 99 }] }], '[0].replies[0]'],
    ['a delay of a day', [{ replies: [{ delay_ms: 86_400_000 }] }], '[0].replies[0]'],
  ])('with %s is refused by name', (_name, script, field) => {
    const read = readScript(JSON.stringify(script));
    expect('kind' in read && read.faults.join('; ')).toContain(field);
  });

  test('that is no JSON is refused', () => {
    expect(readScript('[')).toEqual({ kind: 'faults', faults: ['the script is not valid JSON'] });
  });

  test('answers with the first entry that fits, its replies in turn, the last one from then on', () => {
    const answer = answersOf([
      { when: 'sum', replies: ['one', { code: 'two' }, { status: 503, delay_ms: 5 }] },
      { when: 'su', replies: ['never', 'seen'] },
      { replies: [{ delay_ms: 7 }] },
    ]);
    expect(['sum', 'other', 'the sum', 'sum', 'sum'].map((user) => answer(request(user)))).toEqual([
      'one',
      { text: '', delayMs: 7 },
      { text: 'two' },
      { status: 503, delayMs: 5 },
      { status: 503, delayMs: 5 },
    ]);
  });

  test('answers a repair by what the model was told', () => {
    const answer = answersOf([
      { when: 'sum', when_refused: 'import: socket', replies: ['without socket'] },
      { when_refused: '', replies: ['repaired'] },
      { when: 'sum', replies: ['first'] },
    ]);
    expect(answer(request('sum'))).toBe('first');
    expect(answer(request('sum', 'Refused by import: socket.'))).toBe('without socket');
    expect(answer(request('sum', 'Refused by name: open.'))).toBe('repaired');
  });

  test('is 404 where nothing fits', () => {
    expect(answersOf([{ when: 'sum', replies: ['x'] }])(request('mean'))).toMatchObject({ status: 404 });
  });
});

const FORMATS: readonly ModelFormat[] = ['compute-step', 'openai', 'anthropic'];

describe.each(FORMATS)('a scripted model asked as %s', (format) => {
  const ask = async (script: Script, more: Parameters<typeof asking>[1] = {}) => {
    const model = await startScriptedModel({ answer: answersOf(script) });
    const ended = await asking(target(model.url, { format, name: 'm' }), more);
    await model.close();
    return { ...ended, requests: model.requests };
  };

  test('gives the code of its script, and kept what it was sent', async () => {
    const { source, requests } = await ask([{ when: 'user part', replies: [{ code: FUNCTION }] }]);
    expect(source).toBe(FUNCTION);
    expect(requests).toMatchObject([
      { format, system: prompt.system, user: prompt.user, attempt: 1, refusal: '', signature: 'absent' },
    ]);
  });

  test('declines, and fails, as such a model would', async () => {
    const declined = await ask([{ replies: [{ refusal: 'I would rather not do that.' }] }]);
    const reason = format === 'compute-step' ? 'no_function' : 'refused';
    expect(declined.problem).toMatchObject({ code: 'model_failed', extra: { reason } });
    const failed = await ask([{ replies: [{ status: 503 }] }]);
    expect(failed.problem).toMatchObject({ code: 'model_failed', extra: { webhook_status: 503 } });
    expect(failed.requests).toHaveLength(3);
  });

  test('waits as long as it is told, and for ever', async () => {
    const slow = await ask([{ replies: [{ code: FUNCTION, delay_ms: 10 }] }]);
    expect(slow.source).toBe(FUNCTION);
    const silent = await ask([{ replies: [{ hang: true }] }], { timeoutMs: 300 });
    expect(silent.problem).toMatchObject({ code: 'model_timeout' });
  });

  test('knows a repair by its attempt and what it was told', async () => {
    const script: Script = [{ when_refused: 'import: socket', replies: [FUNCTION] }, { replies: [REFUSED] }];
    const { source, requests } = await ask(script, { context: { ...context, repairs: [refusedImport()] } });
    expect(source).toBe(FUNCTION);
    expect(requests[0]).toMatchObject({ attempt: 2, user: prompt.user });
    expect(requests[0]?.refusal).toBe(refusedImport().text);
  });
});

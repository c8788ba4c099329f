import { describe, expect, test } from 'vitest';
import { FORMATS } from '../../../src/model/formats.ts';
import type { ModelFormat } from '../../../src/model/port.ts';
import { startScriptedModel } from '../../fakes/scripted-model.ts';
import { asking, context, FUNCTION, prompt, target } from './asking.ts';

const to = (format: ModelFormat, parameters = {}) =>
  target('https://models.example.com/', { format, name: 'm-1', parameters });

const body = (format: ModelFormat, parameters = {}) =>
  FORMATS[format].body(prompt, to(format, parameters), context);

const read = (format: ModelFormat, answer: unknown) => {
  const answered = FORMATS[format].read(JSON.stringify(answer), 'application/json');
  return answered.kind === 'text' ? answered.text : answered.reason;
};

describe('what is sent', () => {
  test('to Chat Completions: model and messages, no limit and no temperature of our own', () => {
    expect(body('openai')).toEqual({
      model: 'm-1',
      messages: [
        { role: 'system', content: 'system part' },
        { role: 'user', content: 'user part' },
      ],
    });
  });

  test('to Messages: model, system and messages', () => {
    expect(body('anthropic')).toEqual({
      model: 'm-1',
      system: 'system part',
      messages: [{ role: 'user', content: 'user part' }],
    });
  });

  test.each(['openai', 'anthropic'] as const)('parameters go along as they are, %s', (format) => {
    const parameters = { temperature: 0, max_tokens: 512, reasoning: { effort: 'low' } };
    expect(body(format, parameters)).toMatchObject(parameters);
    expect(body(format, { model: 'other', messages: [], system: 'x' })).toMatchObject({ model: 'm-1' });
  });

  test('to the service’s own format: no name and no parameters', () => {
    expect(body('compute-step', { temperature: 0 })).not.toHaveProperty('temperature');
    expect(JSON.stringify(body('compute-step'))).not.toContain('m-1');
  });
});

describe('what Chat Completions answers', () => {
  const choice = (message: object | null, finish_reason = 'stop') => ({
    choices: [{ message, finish_reason }],
  });
  test.each([
    ['text', choice({ content: 'code' }), 'code'],
    [
      'text parts',
      choice({
        content: [
          { type: 'text', text: 'co' },
          { type: 'text', text: 'de' },
        ],
      }),
      'code',
    ],
    [
      'text beside reasoning',
      choice({ content: 'code', reasoning_content: 'hm', refusal: null, tool_calls: [] }),
      'code',
    ],
    ['a refusal', choice({ content: null, refusal: 'no' }), 'refused'],
    ['a refusal among the parts', choice({ content: [{ type: 'refusal', refusal: 'no' }] }), 'refused'],
    ['null content', choice({ content: null }), 'empty_answer'],
    ['no content', choice({}), 'empty_answer'],
    ['empty content', choice({ content: ' \n' }), 'empty_answer'],
    ['empty parts', choice({ content: [] }), 'empty_answer'],
    ['an answer cut short', choice({ content: 'co' }, 'length'), 'length'],
    ['a filtered answer', choice({ content: 'co' }, 'content_filter'), 'content_filter'],
    ['a tool call', choice({ content: null, tool_calls: [{ id: 'x' }] }), 'tool_calls'],
    ['a tool call by its reason', choice({ content: 'code' }, 'tool_calls'), 'tool_calls'],
    ['content of another type', choice({ content: 5 }), 'answer_not_understood'],
    ['no message', choice(null), 'answer_not_understood'],
    ['no choice', { choices: [] }, 'answer_not_understood'],
    ['an error', { error: { message: 'x' } }, 'answer_not_understood'],
    ['a list', [1], 'answer_not_understood'],
  ])('%s', (_name, answer, expected) => {
    expect(read('openai', answer)).toBe(expected);
  });
});

describe('what Messages answers', () => {
  const message = (content: unknown, stop_reason = 'end_turn') => ({ content, stop_reason });
  const text = (part: string) => ({ type: 'text', text: part });
  test.each([
    ['one block', message([text('code')]), 'code'],
    ['several blocks', message([text('co'), text('de')]), 'code'],
    ['a block behind thinking', message([{ type: 'thinking', thinking: 'hm' }, text('code')]), 'code'],
    ['no block', message([]), 'empty_answer'],
    ['only thinking', message([{ type: 'thinking', thinking: 'hm' }]), 'empty_answer'],
    ['an answer cut short', message([text('co')], 'max_tokens'), 'length'],
    ['a full context window', message([text('co')], 'model_context_window_exceeded'), 'length'],
    ['a refusal', message([text('no')], 'refusal'), 'refused'],
    ['a tool call', message([{ type: 'tool_use' }], 'tool_use'), 'tool_calls'],
    ['a reason that is a property of every object', message([text('code')], 'constructor'), 'code'],
    ['no content', { type: 'error' }, 'answer_not_understood'],
  ])('%s', (_name, answer, expected) => {
    expect(read('anthropic', answer)).toBe(expected);
  });
});

test.each(['openai', 'anthropic'] as const)('%s works over HTTP', async (format) => {
  const server = await startScriptedModel({ answer: () => `\`\`\`python\n${FUNCTION}\`\`\`` });
  const { source } = await asking({ ...to(format), url: new URL(server.url) });
  await server.close();
  expect(source).toBe(FUNCTION);
  expect(server.requests[0]?.format).toBe(format);
  expect(server.requests[0]?.headers['anthropic-version']).toBe(
    format === 'anthropic' ? '2023-06-01' : undefined,
  );
});

test('the version of the Messages API can be given', async () => {
  const server = await startScriptedModel({ answer: () => FUNCTION });
  await asking({
    ...to('anthropic'),
    url: new URL(server.url),
    headers: { 'anthropic-version': '2099-01-01' },
  });
  await server.close();
  expect(server.requests[0]?.headers['anthropic-version']).toBe('2099-01-01');
});

test('a Messages API that misses max_tokens is explained, not quoted', async () => {
  const server = await startScriptedModel({ answer: () => ({ status: 400, body: 'canary' }) });
  const without = await asking({ ...to('anthropic'), url: new URL(server.url) });
  const given = await asking({ ...to('anthropic', { max_tokens: 9 }), url: new URL(server.url) });
  await server.close();
  expect(without.problem?.detail).toBe(
    'The webhook answered with an error status (status 400). The Messages API requires model.parameters.max_tokens; the service sends no limit of its own.',
  );
  expect(given.problem?.detail).toBe('The webhook answered with an error status (status 400).');
});

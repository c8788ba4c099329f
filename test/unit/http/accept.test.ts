import { describe, expect, it } from 'vitest';
import { acceptsJson, answerForm } from '../../../src/http/accept.ts';

describe('acceptsJson', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/json', true],
    ['text/html, application/json;q=0.5', true],
    ['application/*;q=0.1', true],
    ['application/problem+json', true],
    ['text/csv', false],
    ['application/json;q=0', false],
    ['application/json; q=0.000', false],
    ['application/jsonx', false],
    ['application/json;q=0, */*', false],
    ['*/*;q=0', false],
  ])('%j is %s', (accept, expected) => {
    expect(acceptsJson(accept)).toBe(expected);
  });
});

describe('answerForm', () => {
  it.each([
    [undefined, 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['text/event-stream', 'event-stream'],
    ['Text/Event-Stream; charset=utf-8', 'event-stream'],
    ['text/*', 'event-stream'],
    ['text/event-stream, */*', 'event-stream'],
    ['text/event-stream, application/json', 'json'],
    ['application/json, text/event-stream', 'json'],
    ['application/json;q=0.9, text/event-stream', 'event-stream'],
    ['application/json, text/event-stream;q=0.9', 'json'],
    ['text/event-stream;q=0.5, */*;q=0.8', 'json'],
    ['text/event-stream;q=0.001, application/json;q=0', 'event-stream'],
    ['text/event-stream, application/problem+json', 'event-stream'],
    ['text/event-stream;q=0', null],
    ['text/event-stream;q=0, */*', 'json'],
    ['*/*, text/event-stream;q=0, application/json;q=0', null],
    ['text/html', null],
  ])('%j is %s', (accept, expected) => {
    expect(answerForm(accept)).toBe(expected);
  });
});

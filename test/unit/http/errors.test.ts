import { describe, expect, it } from 'vitest';
import { PROBLEMS, type ProblemCode, problem } from '../../../src/contract/problem.ts';
import { problemAnswer } from '../../../src/http/errors.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const waits = (code: ProblemCode) => [429, 503].includes(PROBLEMS[code].status);

describe('a problem as an answer', () => {
  it.each(CODES)('says when to try again where that helps, and the same in both places: %s', (code) => {
    const { headers, body } = problemAnswer(problem(code, 'x'));
    expect(headers['retry-after']).toBe(waits(code) ? '1' : undefined);
    expect(JSON.parse(body).retry_after_seconds).toBe(waits(code) ? 1 : undefined);
    if (waits(code)) expect(PROBLEMS[code].retryable).toBe(true);
  });

  it.each(CODES)('says what its maker knows of that: %s', (code) => {
    const { headers, body } = problemAnswer(problem(code, 'x', { retryAfterSeconds: 7 }));
    expect(headers['retry-after']).toBe('7');
    expect(JSON.parse(body).retry_after_seconds).toBe(7);
  });
});

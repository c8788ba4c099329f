import { describe, expect, it } from 'vitest';
import type { Quota } from '../../../src/contract/computation.ts';
import { type Problem, problem } from '../../../src/contract/problem.ts';
import { rateLimitHeaders } from '../../../src/http/rate-limit.ts';
import type { Quotas } from '../../../src/metering/permit.ts';
import { judgeQuota, type QuotaState } from '../../../src/metering/quota.ts';
import { quotaProblem } from '../../../src/metering/quota-problem.ts';
import type { StepAnswer } from '../../../src/step/answer.ts';

const now = new Date('2026-11-30T23:59:00.500Z');

function answer(quota: Quota | null): StepAnswer {
  return { kind: 'answer', resultText: null, computation: { quota } } as unknown as StepAnswer;
}

const quota = (
  runs: [number, number | null],
  seconds: [number, number | null],
  month = '2026-11',
): Quota => ({
  month,
  compute_runs: { used: runs[0], limit: runs[1] },
  compute_seconds: { used: seconds[0], limit: seconds[1] },
  resets_at: '',
});

function refused(state: QuotaState, quotas: Quotas): Problem {
  const refusal = judgeQuota(state, quotas, '2026-11', now);
  if (refusal === null) throw new Error('not refused');
  return quotaProblem(refusal);
}

describe('rateLimitHeaders', () => {
  it('tells both meters, their window and what is left in it', () => {
    expect(rateLimitHeaders(answer(quota([12, 1000], [15, 3600])), now)).toEqual({
      'ratelimit-policy':
        '"compute_runs";q=1000;qu="requests";w=2592000, "compute_seconds";q=3600;qu="compute-seconds";w=2592000',
      ratelimit: '"compute_runs";r=988;t=60, "compute_seconds";r=3585;t=60',
    });
  });

  it.each([
    ['2028-02', 29 * 86_400],
    ['2027-02', 28 * 86_400],
    ['2026-12', 31 * 86_400],
  ])('takes the length of %s for the window', (month, seconds) => {
    const headers = rateLimitHeaders(answer(quota([0, 1], [0, null], month)), now);
    expect(headers['ratelimit-policy']).toBe(`"compute_runs";q=1;qu="requests";w=${seconds}`);
  });

  it('leaves an unlimited meter out, and says nothing where both are', () => {
    expect(rateLimitHeaders(answer(quota([5, null], [5, 60])), now).ratelimit).toBe(
      '"compute_seconds";r=55;t=60',
    );
    expect(rateLimitHeaders(answer(quota([5, null], [5, null])), now)).toEqual({});
    expect(rateLimitHeaders(answer(null), now)).toEqual({});
  });

  it('never tells less than nothing, of an overdrawn meter or of a month whose end has passed', () => {
    const headers = rateLimitHeaders(answer(quota([0, 5], [75, 60], '2026-10')), now);
    expect(headers.ratelimit).toBe('"compute_runs";r=5;t=1, "compute_seconds";r=0;t=1');
  });

  it('tells a spent quota until the month’s end, as Retry-After does', () => {
    const spent = refused(
      { usedRuns: 10, usedSeconds: 20, openPermits: 1 },
      { computeRuns: 10, computeSeconds: 60 },
    );
    expect(rateLimitHeaders(spent, now).ratelimit).toBe(
      '"compute_runs";r=0;t=60, "compute_seconds";r=39;t=60',
    );
    expect(spent.retryAfterSeconds).toBe(60);
  });

  it('tells a held quota for as long as Retry-After does, and no window that outlasts it', () => {
    const held = refused(
      { usedRuns: 9, usedSeconds: 20, openPermits: 1 },
      { computeRuns: 10, computeSeconds: 60 },
    );
    const headers = rateLimitHeaders(held, now);
    expect(headers.ratelimit).toBe('"compute_runs";r=0;t=1');
    expect(headers['ratelimit-policy']).toContain('"compute_seconds";q=60');
  });

  it('says nothing beside a problem that is not about a quota', () => {
    expect(rateLimitHeaders(problem('overloaded', 'x'), now)).toEqual({});
  });
});

import { describe, expect, it } from 'vitest';
import type { Quotas } from '../../../src/metering/permit.ts';
import { judgeQuota, type QuotaState } from '../../../src/metering/quota.ts';

const now = new Date('2026-11-30T23:59:58.500Z');
const state = (usedRuns: number, usedSeconds: number, openPermits: number): QuotaState => ({
  usedRuns,
  usedSeconds,
  openPermits,
});
const caps = (computeRuns: number | null, computeSeconds: number | null): Quotas => ({
  computeRuns,
  computeSeconds,
});

describe('judgeQuota', () => {
  it.each<[string, QuotaState, Quotas, string | null]>([
    ['nothing used', state(0, 0, 0), caps(1, 1), null],
    ['no caps, whatever is used', state(9e9, 9e9, 9e6), caps(null, null), null],
    ['a cap of nothing', state(0, 0, 0), caps(0, null), 'quota_exceeded compute_runs'],
    ['a cap of no seconds', state(0, 0, 0), caps(null, 0), 'quota_exceeded compute_seconds'],
    ['the last run is free', state(9, 0, 0), caps(10, null), null],
    ['the last run is held', state(9, 0, 1), caps(10, null), 'quota_reserved compute_runs'],
    ['the runs are spent', state(10, 0, 0), caps(10, null), 'quota_exceeded compute_runs'],
    ['the runs are spent, others open', state(10, 0, 3), caps(10, null), 'quota_exceeded compute_runs'],
    ['the last second is free', state(1, 59, 0), caps(null, 60), null],
    ['an open run holds the last second', state(1, 59, 1), caps(null, 60), 'quota_reserved compute_seconds'],
    ['the seconds are overdrawn', state(1, 75, 0), caps(null, 60), 'quota_exceeded compute_seconds'],
    [
      'runs held, seconds spent: spent is told',
      state(9, 60, 1),
      caps(10, 60),
      'quota_exceeded compute_seconds',
    ],
    ['runs free, seconds held', state(0, 58, 2), caps(10, 60), 'quota_reserved compute_seconds'],
    ['runs free up to the last seconds', state(0, 57, 2), caps(10, 60), null],
  ])('%s', (_, used, quotas, expected) => {
    const refusal = judgeQuota(used, quotas, '2026-11', now);
    expect(refusal && `${refusal.code} ${refusal.meter}`).toBe(expected);
  });

  it('sends a tenant with a spent quota away until the month ends, rounded up', () => {
    expect(judgeQuota(state(1, 1, 0), caps(1, null), '2026-11', now)).toMatchObject({
      used: 1,
      limit: 1,
      month: '2026-11',
      retryAfterSeconds: 2,
    });
  });

  it('asks a tenant whose open runs hold the rest to come back in a second', () => {
    expect(judgeQuota(state(0, 0, 1), caps(1, null), '2026-11', now)?.retryAfterSeconds).toBe(1);
  });

  it('counts to the end of the month in force when the clock is behind it', () => {
    const back = new Date('2026-10-31T00:00:00Z');
    expect(judgeQuota(state(1, 0, 0), caps(1, null), '2026-11', back)?.retryAfterSeconds).toBe(31 * 86_400);
  });

  it('never answers a wait of nothing', () => {
    const past = new Date('2026-12-01T00:00:00Z');
    expect(judgeQuota(state(1, 0, 0), caps(1, null), '2026-11', past)?.retryAfterSeconds).toBe(1);
  });
});

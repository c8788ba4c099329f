import { describe, expect, test } from 'vitest';
import { backoffMs, isRetriedStatus, retryAfterMs } from '../../../src/model/backoff.ts';

const now = new Date('2026-11-30T10:00:00Z');

describe('Retry-After', () => {
  test.each([
    [undefined, null],
    ['', null],
    ['0', 0],
    ['7', 7_000],
    [' 7 ', 7_000],
    ['7.5', null],
    ['-7', null],
    ['soon', null],
    ['999999999', 86_400_000],
    ['Mon, 30 Nov 2026 10:00:09 GMT', 9_000],
    ['Monday, 30-Nov-26 10:00:09 GMT', 9_000],
    ['Mon, 30 Nov 2026 09:59:00 GMT', 0],
    ['Fri, 30 Nov 2096 10:00:00 GMT', 86_400_000],
    ['2026-11-30T10:00:09Z', null],
    ['Xxx, 99 Nov 2026 10:00:09 GMT', null],
  ])('%j asks for %s ms', (field, ms) => {
    expect(retryAfterMs(field, now)).toBe(ms);
  });
});

describe('backoff', () => {
  test('is full jitter under a ceiling that doubles up to eight seconds', () => {
    for (const retry of [1, 2, 3, 10]) {
      const ceiling = Math.min(8_000, 500 * 2 ** (retry - 1));
      expect(backoffMs(retry, null, () => 0)).toBe(0);
      expect(backoffMs(retry, null, () => 0.5)).toBe(ceiling / 2);
      expect(backoffMs(retry, null, () => 0.999)).toBeLessThan(ceiling);
    }
  });

  test('is never shorter than what the webhook asked for', () => {
    expect(backoffMs(1, 5_000, () => 0)).toBe(5_000);
    expect(backoffMs(1, 5_000, () => 0.5)).toBe(5_250);
  });

  test('only for statuses that say that nothing was taken', () => {
    const retried = Array.from({ length: 600 }, (_, status) => status).filter(isRetriedStatus);
    expect(retried).toEqual([429, 502, 503, 504]);
    expect(isRetriedStatus(undefined)).toBe(false);
  });
});

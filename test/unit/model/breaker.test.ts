import { expect, test } from 'vitest';
import { CircuitBreaker } from '../../../src/model/breaker.ts';

function failing(times: number, key = 'a', breaker = new CircuitBreaker()): CircuitBreaker {
  for (let step = 0; step < times; step += 1) breaker.failed(key, 0);
  return breaker;
}

test('opens at the tenth failure in a row, not before', () => {
  expect(failing(9).enter('a', 0)).toEqual({ open: false });
  expect(failing(10).enter('a', 0)).toEqual({ open: true, retryAfterMs: 15_000 });
  expect(failing(10).enter('a', 14_000)).toEqual({ open: true, retryAfterMs: 1_000 });
  expect(failing(10).enter('b', 0)).toEqual({ open: false });
});

test('a success between failures starts the count again', () => {
  const breaker = failing(9);
  breaker.succeeded('a');
  expect(failing(9, 'a', breaker).enter('a', 0)).toEqual({ open: false });
});

test('lets one probe through at a time, and opens again when it fails', () => {
  const breaker = failing(10);
  const before = new CircuitBreaker().enter('a', 0);
  const probe = breaker.enter('a', 15_000);
  expect(probe.open).toBe(false);
  expect(breaker.enter('a', 15_000).open).toBe(true);
  // A step from before the breaker opened is over: the probe is still under way.
  breaker.released('a', before);
  expect(breaker.enter('a', 15_000).open).toBe(true);
  breaker.released('a', probe);
  expect(breaker.enter('a', 15_000).open).toBe(false);
  breaker.failed('a', 15_000);
  expect(breaker.enter('a', 15_001)).toEqual({ open: true, retryAfterMs: 14_999 });
  expect(breaker.enter('a', 30_000).open).toBe(false);
  breaker.succeeded('a');
  expect(breaker.enter('a', 30_000).open).toBe(false);
  expect(breaker.enter('a', 30_000).open).toBe(false);
});

test('remembers a thousand webhooks and forgets the one longest without a failure', () => {
  const breaker = failing(10, 'first');
  failing(10, 'second', breaker);
  for (let key = 0; key < 998; key += 1) breaker.failed(`other ${key}`, 0);
  expect(breaker.enter('first', 0).open).toBe(true);
  breaker.failed('second', 0);
  breaker.failed('one more', 0);
  expect(breaker.enter('first', 0).open).toBe(false);
  expect(breaker.enter('second', 0).open).toBe(true);
});

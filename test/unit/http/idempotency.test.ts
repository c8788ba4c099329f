import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import type { HttpAnswer } from '../../../src/http/http-answer.ts';
import { createIdempotencyStore } from '../../../src/http/idempotency.ts';

function store(maxBytes = 1_000_000) {
  let nowNs = 0n;
  const clock: Clock = { now: () => new Date(0), monotonicNs: () => nowNs };
  const pass = (ms: number) => {
    nowNs += BigInt(ms) * 1_000_000n;
  };
  return { pass, keys: createIdempotencyStore({ clock, ttlMs: 1000, maxBytes }) };
}

const answer = (body: string): HttpAnswer => ({ status: 200, headers: {}, body });

function first(keys: ReturnType<typeof store>['keys'], tenant = 'a', key = 'k', print = 'f') {
  const state = keys.claim(tenant, key, print);
  if (state.kind !== 'first') {
    throw new Error(state.kind);
  }
  return state;
}

describe('an idempotency key', () => {
  it('is in flight until its answer, and replayed after it', () => {
    const { keys } = store();
    const claimed = first(keys);
    expect(keys.claim('a', 'k', 'f').kind).toBe('in_flight');
    claimed.finish(answer('x'));
    expect(keys.claim('a', 'k', 'f')).toEqual({ kind: 'replay', answer: answer('x') });
  });

  it('is refused for another body, in flight and after', () => {
    const { keys } = store();
    const claimed = first(keys);
    expect(keys.claim('a', 'k', 'other').kind).toBe('reused');
    claimed.finish(answer('x'));
    expect(keys.claim('a', 'k', 'other').kind).toBe('reused');
  });

  it('is free again after an answer that counted nothing', () => {
    const { keys } = store();
    first(keys).finish(null);
    first(keys);
  });

  it('belongs to its tenant', () => {
    const { keys } = store();
    first(keys, 'a').finish(answer('of a'));
    first(keys, 'b').finish(answer('of b'));
    expect(keys.claim('a', 'k', 'f')).toMatchObject({ answer: { body: 'of a' } });
  });

  it('is forgotten after its time, counted from the answer', () => {
    const { keys, pass } = store();
    const claimed = first(keys);
    pass(5000);
    expect(keys.claim('a', 'k', 'f').kind).toBe('in_flight');
    claimed.finish(answer('x'));
    pass(999);
    expect(keys.claim('a', 'k', 'f').kind).toBe('replay');
    pass(1);
    first(keys);
  });

  it('makes room by the oldest answer, and never by a request in flight', () => {
    const { keys } = store(10_000);
    const running = first(keys, 'a', 'running');
    for (const key of ['one', 'two', 'three']) {
      first(keys, 'a', key).finish(answer('x'.repeat(3000)));
    }
    expect(keys.claim('a', 'one', 'f').kind).toBe('first');
    expect(keys.claim('a', 'three', 'f').kind).toBe('replay');
    expect(keys.claim('a', 'running', 'f').kind).toBe('in_flight');
    running.finish(answer('done'));
    expect(keys.claim('a', 'running', 'f').kind).toBe('replay');
  });

  it('has a fingerprint of route and body that differs from store to store', async () => {
    const { keys } = store();
    const body = Buffer.alloc(9 * 1024 * 1024, 1);
    const print = await keys.fingerprint('/v1/compute', body);
    expect(await keys.fingerprint('/v1/compute', Buffer.from(body))).toBe(print);
    expect(await keys.fingerprint('/v1/compute/run', body)).not.toBe(print);
    body[body.length - 1] = 2;
    expect(await keys.fingerprint('/v1/compute', body)).not.toBe(print);
    expect(await store().keys.fingerprint('/v1/compute', Buffer.from('x'))).not.toBe(
      await keys.fingerprint('/v1/compute', Buffer.from('x')),
    );
  });
});

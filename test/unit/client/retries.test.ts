import { describe, expect, it, vi } from 'vitest';
import { ComputeStepConnectionError, ComputeStepProblem } from '../../../src/client/problem.ts';
import { type Attempt, type RetryOptions, withRetries } from '../../../src/client/retries.ts';
import { PROBLEMS, type ProblemCode } from '../../../src/contract/problem.ts';

function problem(
  code: ProblemCode,
  retryAfterSeconds: number | null = null,
  replayed = false,
): ComputeStepProblem {
  const { status, title, retryable } = PROBLEMS[code];
  return new ComputeStepProblem(
    status,
    { type: 'about:blank', title, status, code, detail: 'x', retryable },
    retryAfterSeconds,
    replayed,
  );
}

/** Throws the errors one after the other, then answers; keeps what each attempt got and how long was waited. */
async function tried(errors: readonly unknown[], options: Partial<RetryOptions> = {}) {
  const attempts: Attempt[] = [];
  const waits: number[] = [];
  const outcome = await withRetries(
    async (attempt) => {
      attempts.push(attempt);
      if (attempts.length <= errors.length) throw errors[attempts.length - 1];
      return 'answer';
    },
    {
      deadlineMs: 600_000,
      random: () => 0,
      wait: async (waitMs) => {
        waits.push(waitMs);
      },
      ...options,
    },
  ).catch((error: unknown) => error);
  return { outcome, attempts, waits };
}

describe('a call with retries', () => {
  it('asks again after every retryable problem and no other', async () => {
    for (const [code, { retryable }] of Object.entries(PROBLEMS)) {
      const error = problem(code as ProblemCode);
      const { outcome, attempts } = await tried([error]);
      expect(attempts.length, code).toBe(retryable ? 2 : 1);
      expect(outcome, code).toBe(retryable ? 'answer' : error);
    }
  });

  it('has all the time there is where its deadline is beyond what a timer takes', async () => {
    for (const deadlineMs of [Number.POSITIVE_INFINITY, 2 ** 31]) {
      const slow = async ({ signal }: Attempt) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        signal.throwIfAborted();
        return 'answer';
      };
      expect(await withRetries(slow, { deadlineMs })).toBe('answer');
    }
  });

  it('waits for a quota that opens in 31 days, and does not ask at once', async () => {
    const caller = new AbortController();
    let asked = 0;
    const spent = async (): Promise<never> => {
      asked += 1;
      throw problem('quota_exceeded', 31 * 24 * 3600);
    };
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const waiting = withRetries(spent, {
      deadlineMs: Number.POSITIVE_INFINITY,
      signal: caller.signal,
      onRetry: () => setImmediate(() => caller.abort(new Error('enough'))),
    });
    await expect(waiting).rejects.toThrow('enough');
    expect(asked).toBe(1);
    expect(timers.mock.calls.every(([, ms]) => (ms ?? 0) < 2 ** 31)).toBe(true);
    timers.mockRestore();
  });

  it('does not ask again for an answer that is kept for its key', async () => {
    const kept = problem('deadline_exceeded', null, true);
    const { outcome, attempts } = await tried([problem('deadline_exceeded'), kept]);
    expect(outcome).toBe(kept);
    expect(attempts).toHaveLength(2);
  });

  it('asks again where the connection failed or a proxy did, not where something else answers', async () => {
    for (const error of [
      new ComputeStepConnectionError('network', 'x'),
      new ComputeStepConnectionError('timeout', 'x'),
      new ComputeStepConnectionError('answer', 'x', 502),
    ]) {
      expect((await tried([error])).outcome).toBe('answer');
    }
    for (const error of [
      new ComputeStepConnectionError('answer', 'x', 404),
      new ComputeStepConnectionError('answer', 'x', 302),
      new TypeError('a fault of the caller'),
    ]) {
      expect((await tried([error])).outcome).toBe(error);
    }
  });

  it('sends one key in all attempts, the given one if there is one', async () => {
    const { attempts } = await tried([problem('overloaded'), problem('model_failed')]);
    expect(new Set(attempts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(attempts[0]?.idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
    expect((await tried([])).attempts[0]?.idempotencyKey).not.toBe(attempts[0]?.idempotencyKey);
    const given = await tried([problem('overloaded')], { idempotencyKey: 'plan 7, step 3' });
    expect(given.attempts.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'plan 7, step 3',
      'plan 7, step 3',
    ]);
  });

  it('waits no less than Retry-After says, and longer each time where nothing is said', async () => {
    const said = await tried([problem('overloaded', 7), problem('quota_reserved', 1)]);
    expect(said.waits[0]).toBeGreaterThanOrEqual(7000);
    expect(said.waits[1]).toBeGreaterThanOrEqual(1000);
    // What no service says must not make a loop without a pause.
    const nonsense = await tried([problem('overloaded', -100_000)]);
    expect(nonsense.waits[0]).toBeGreaterThanOrEqual(100);
    const unsaid = await tried(
      Array.from({ length: 9 }, () => problem('overloaded')),
      {
        maxAttempts: 10,
        random: () => 1,
      },
    );
    expect(unsaid.waits).toEqual([...unsaid.waits].sort((left, right) => left - right));
    expect(unsaid.waits[0]).toBeLessThan(1000);
    expect(unsaid.waits.at(-1)).toBeLessThan(20_000);
  });

  it('does not wait past the deadline: a spent quota is told at once', async () => {
    const spent = problem('quota_exceeded', 3 * 24 * 3600);
    const { outcome, attempts, waits } = await tried([spent, spent]);
    expect([outcome, attempts.length, waits]).toEqual([spent, 1, []]);
  });

  it('gives up after the attempts it may make, and does not count questions for an answer in the making', async () => {
    const busy = Array.from({ length: 20 }, () => problem('overloaded', 1));
    expect((await tried(busy)).attempts).toHaveLength(5);
    expect((await tried(busy, { maxAttempts: 2 })).attempts).toHaveLength(2);
    const making = Array.from({ length: 20 }, () => problem('idempotency_in_flight', 1));
    expect((await tried(making)).outcome).toBe('answer');
  });

  it('tells of each retry before it waits', async () => {
    const told: [string, number][] = [];
    const { waits } = await tried([problem('overloaded', 2)], {
      onRetry: (error, waitMs) => told.push([error.message, waitMs]),
    });
    expect(told).toEqual([['overloaded: x', waits[0]]]);
  });

  it('ends an attempt at the deadline', async () => {
    const error = await withRetries(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      { deadlineMs: 50 },
    ).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'ComputeStepConnectionError', reason: 'timeout' });
  });

  it('does not ask again once the caller has aborted', async () => {
    const leaving = new AbortController();
    const error = problem('overloaded');
    let calls = 0;
    const outcome = withRetries(
      async () => {
        calls += 1;
        leaving.abort();
        throw error;
      },
      { deadlineMs: 600_000, signal: leaving.signal, wait: async () => {} },
    );
    await expect(outcome).rejects.toBe(error);
    expect(calls).toBe(1);
  });

  it('ends an attempt and a wait when the caller aborts, with the caller’s reason', async () => {
    const leaving = new AbortController();
    const reason = new Error('no longer needed');
    const inCall = withRetries(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          leaving.abort(reason);
        }),
      { deadlineMs: 600_000, signal: leaving.signal },
    );
    await expect(inCall).rejects.toBe(reason);

    const waiting = new AbortController();
    const inWait = withRetries(
      async () => {
        throw problem('overloaded', 300);
      },
      {
        deadlineMs: 600_000,
        signal: waiting.signal,
        onRetry: () => setTimeout(() => waiting.abort(reason), 5),
      },
    );
    await expect(inWait).rejects.toBe(reason);
    const told = new AbortController();
    const beforeWait = withRetries(
      async () => {
        throw problem('overloaded', 300);
      },
      { deadlineMs: 600_000, signal: told.signal, onRetry: () => told.abort(reason) },
    );
    await expect(beforeWait).rejects.toBe(reason);
    let calls = 0;
    await expect(
      withRetries(
        async () => {
          calls += 1;
        },
        { deadlineMs: 1000, signal: waiting.signal },
      ),
    ).rejects.toBe(reason);
    expect(calls).toBe(0);
  });
});

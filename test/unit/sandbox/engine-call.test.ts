import { describe, expect, test } from 'vitest';
import { boundedCall, EngineError, toEngineError } from '../../../src/sandbox/engine-call.ts';

const never = () => new Promise<never>(() => {});

describe('a call to the engine', () => {
  test('ends at its bound even if it never settles, and its signal is aborted', async () => {
    let seen: AbortSignal | undefined;
    const call = boundedCall(20, undefined, (signal) => {
      seen = signal;
      return never();
    });
    await expect(call).rejects.toMatchObject({ name: 'EngineError', fault: 'timeout' });
    expect(seen?.aborted).toBe(true);
  });

  test('ends with its caller, even if it ignores the signal', async () => {
    const caller = new AbortController();
    const call = boundedCall(60_000, caller.signal, never);
    caller.abort();
    await expect(call).rejects.toMatchObject({ fault: 'cancelled' });
  });

  test('is not made for a caller who has left already', async () => {
    let made = false;
    const call = boundedCall(60_000, AbortSignal.abort(), () => {
      made = true;
      return never();
    });
    await expect(call).rejects.toMatchObject({ fault: 'cancelled' });
    expect(made).toBe(false);
  });

  test('tells an answer with an error status from no answer', () => {
    expect(toEngineError(Object.assign(new Error('no such image'), { statusCode: 404 }))).toMatchObject({
      fault: 'refused',
      status: 404,
    });
    expect(toEngineError(new Error('connect ENOENT'))).toMatchObject({ fault: 'unreachable', status: null });
    expect(toEngineError('odd')).toBeInstanceOf(EngineError);
  });

  test('keeps an error message to one log line’s length', () => {
    expect(toEngineError(new Error('x'.repeat(10_000))).message.length).toBeLessThanOrEqual(300);
  });
});

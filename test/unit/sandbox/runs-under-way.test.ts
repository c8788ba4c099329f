import { expect, test } from 'vitest';
import type { RunReport } from '../../../src/sandbox/port.ts';
import { notStarted, RunsUnderWay } from '../../../src/sandbox/runs-under-way.ts';

const REPORT = notStarted('overloaded', 'of the test');
/** A run that ends when its signal is aborted, and tells why. */
const untilAborted =
  (reasons: unknown[]) =>
  (signal: AbortSignal): Promise<RunReport> =>
    new Promise((resolve) => {
      const end = (): void => {
        reasons.push(signal.reason);
        resolve(REPORT);
      };
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) {
        end();
      }
    });

test('a run is under way until it has ended', async () => {
  const runs = new RunsUnderWay();
  const running = runs.start(new AbortController().signal, async () => REPORT);
  expect(runs.size).toBe(1);
  expect(await running).toBe(REPORT);
  expect(runs.size).toBe(0);
});

test('a run that throws is not under way any more', async () => {
  const runs = new RunsUnderWay();
  const running = runs.start(new AbortController().signal, () => Promise.reject(new Error('broken')));
  await expect(running).rejects.toThrow('broken');
  expect(runs.size).toBe(0);
});

test.each([['before the run'], ['during it']])('its caller’s reason reaches it, aborted %s', async (when) => {
  const runs = new RunsUnderWay();
  const caller = new AbortController();
  const reasons: unknown[] = [];
  const reason = new Error('left');
  if (when === 'before the run') {
    caller.abort(reason);
  }
  const running = runs.start(caller.signal, untilAborted(reasons));
  caller.abort(reason);
  await running;
  expect(reasons).toEqual([reason]);
});

test('closing aborts every run and waits for its end, and says so to those that come later', async () => {
  const runs = new RunsUnderWay();
  const reasons: unknown[] = [];
  void runs.start(new AbortController().signal, untilAborted(reasons));
  const broken = runs.start(new AbortController().signal, async (signal) => {
    await untilAborted(reasons)(signal);
    throw new Error('broken');
  });
  broken.catch(() => {});
  expect(runs.closed).toBe(false);
  await runs.close();
  expect(runs.closed).toBe(true);
  expect(reasons).toEqual([new Error('the sandbox is closing'), new Error('the sandbox is closing')]);
  expect(runs.size).toBe(0);
  expect(runs.interrupted(AbortSignal.abort())).toMatchObject({ reason: 'sandbox_unavailable' });
});

test('a run that did not begin is told by its deadline or by its caller', () => {
  const runs = new RunsUnderWay();
  const late = AbortSignal.abort(new DOMException('the deadline passed', 'TimeoutError'));
  expect(runs.interrupted(late)).toMatchObject({ kind: 'notStarted', reason: 'deadline_exceeded' });
  expect(runs.interrupted(AbortSignal.abort())).toMatchObject({ kind: 'notStarted', reason: 'cancelled' });
});

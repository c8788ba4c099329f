import { describe, expect, it } from 'vitest';
import { SingleFlight } from '../../../src/step/single-flight.ts';

/** Work that is ended from outside, and how often it was begun. */
function work() {
  const begun: { signal: AbortSignal; end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const begin = (signal: AbortSignal) =>
    new Promise<string>((end, fail) => {
      begun.push({ signal, end, fail });
    });
  return { begun, begin };
}

const stays = new AbortController().signal;

describe('callers that want the same at the same time', () => {
  it('share the work; the first one has begun it', async () => {
    const { begun, begin } = work();
    const flights = new SingleFlight<string>();
    const all = [1, 2, 3].map(() => flights.join('k', begin, stays));
    begun[0]?.end('done');
    expect(await Promise.all(all)).toEqual([
      { kind: 'done', value: 'done', led: true },
      { kind: 'done', value: 'done', led: false },
      { kind: 'done', value: 'done', led: false },
    ]);
    expect(begun).toHaveLength(1);
  });

  it('do not share with those of another key, nor with those who come later', async () => {
    const { begun, begin } = work();
    const flights = new SingleFlight<string>();
    const one = flights.join('k', begin, stays);
    const other = flights.join('l', begin, stays);
    begun[0]?.end('a');
    begun[1]?.end('b');
    expect([await one, await other]).toMatchObject([{ value: 'a' }, { value: 'b' }]);
    const later = flights.join('k', begin, stays);
    begun[2]?.end('c');
    expect(await later).toMatchObject({ value: 'c', led: true });
  });

  it('take nothing from each other by leaving, the first one included', async () => {
    const { begun, begin } = work();
    const flights = new SingleFlight<string>();
    const first = new AbortController();
    const leaver = flights.join('k', begin, first.signal);
    const stayer = flights.join('k', begin, stays);
    first.abort();
    expect(await leaver).toEqual({ kind: 'left' });
    expect(begun[0]?.signal.aborted).toBe(false);
    const joiner = flights.join('k', begin, stays);
    begun[0]?.end('done');
    expect(await stayer).toMatchObject({ value: 'done' });
    expect(await joiner).toMatchObject({ value: 'done', led: false });
  });

  it('end the work when all have left, and the next caller begins anew', async () => {
    const { begun, begin } = work();
    const flights = new SingleFlight<string>();
    const controllers = [new AbortController(), new AbortController()];
    const all = controllers.map(({ signal }) => flights.join('k', begin, signal));
    for (const controller of controllers) controller.abort();
    expect(await Promise.all(all)).toEqual([{ kind: 'left' }, { kind: 'left' }]);
    expect(begun[0]?.signal.aborted).toBe(true);
    const next = flights.join('k', begin, stays);
    expect(begun).toHaveLength(2);
    // The work that was given up ends late, and changes nothing for the new one.
    begun[0]?.fail(new Error('aborted'));
    await new Promise((resolve) => setImmediate(resolve));
    const joiner = flights.join('k', begin, stays);
    begun[1]?.end('new');
    expect(await next).toMatchObject({ value: 'new' });
    expect(await joiner).toMatchObject({ value: 'new', led: false });
  });

  it('all hear of a fault, and a caller who has left already begins nothing', async () => {
    const { begun, begin } = work();
    const flights = new SingleFlight<string>();
    const all = [1, 2].map(() => flights.join('k', begin, stays));
    begun[0]?.fail(new Error('broken'));
    for (const each of all) await expect(each).rejects.toThrow('broken');
    expect(await flights.join('k', begin, AbortSignal.abort())).toEqual({ kind: 'left' });
    expect(begun).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import type { Meter } from '../../src/metering/permit.ts';
import { readyOf } from '../../src/ready.ts';
import { nullObserver } from '../../src/step/observer.ts';
import { fakeSandbox } from '../fakes/sandbox.ts';

function readyWith(answers: readonly boolean[]) {
  let asked = 0;
  let nowMs = 0;
  const meter = {
    ready: async () => ({ ok: answers[asked++] ?? true, detail: 'as the test says' }),
  } as unknown as Meter;
  const clock = { now: () => new Date(nowMs), monotonicNs: () => BigInt(nowMs) * 1_000_000n };
  const ready = readyOf(fakeSandbox(), meter, clock, nullObserver);
  return {
    ledger: async () => (await ready()).find(({ check }) => check === 'ledger')?.ok,
    asked: () => asked,
    later: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('the readiness of the ledger', () => {
  it('is not asked for by every probe, as each time is a write', async () => {
    const { ledger, asked, later } = readyWith([true, false]);
    for (let probe = 0; probe < 10; probe += 1) expect(await ledger()).toBe(true);
    expect(asked()).toBe(1);
    later(250);
    expect(await ledger()).toBe(false);
    expect(asked()).toBe(2);
  });

  it('is asked for once by probes that come at once, whatever it answers', async () => {
    const { ledger, asked } = readyWith([false, true]);
    const probes = (): Promise<unknown> => Promise.all(Array.from({ length: 10 }, ledger));
    expect(await probes()).toEqual(Array(10).fill(false));
    expect(asked()).toBe(1);
    expect(await probes()).toEqual(Array(10).fill(true));
    expect(asked()).toBe(2);
  });

  it('is asked for again at once while it is not good', async () => {
    const { ledger } = readyWith([false, false, true]);
    expect([await ledger(), await ledger(), await ledger()]).toEqual([false, false, true]);
  });
});

import { describe, expect, test } from 'vitest';
import { Slots, type SlotTake } from '../../../src/sandbox/slots.ts';

const open = () => new AbortController().signal;

async function taken(take: Promise<SlotTake>): Promise<() => void> {
  const slot = await take;
  if (slot.kind !== 'taken') {
    throw new Error(`slot is ${slot.kind}`);
  }
  return slot.release;
}

describe('run slots', () => {
  test('give as many as there are, and queue the rest in order', async () => {
    const slots = new Slots({ size: 1, queueLimit: 9 });
    const order: string[] = [];
    const first = await taken(slots.take('a', open()));
    const rest = ['one', 'two', 'three'].map(async (name) => {
      const release = await taken(slots.take('a', open()));
      order.push(name);
      release();
    });
    expect([slots.running, slots.waiting]).toEqual([1, 3]);
    expect(order).toEqual([]);
    first();
    await Promise.all(rest);
    expect(order).toEqual(['one', 'two', 'three']);
    expect([slots.running, slots.waiting]).toEqual([0, 0]);
  });

  test('refuse at once when the queue is full', async () => {
    const slots = new Slots({ size: 1, queueLimit: 1 });
    await slots.take('a', open());
    void slots.take('a', open());
    expect(await slots.take('b', open())).toEqual({ kind: 'full' });
  });

  test('serve tenants in turn: a burst of one does not hold up another', async () => {
    const slots = new Slots({ size: 1, queueLimit: 99 });
    const order: string[] = [];
    const first = await taken(slots.take('greedy', open()));
    const runs = ['greedy', 'greedy', 'greedy', 'modest'].map(async (tenant) => {
      const release = await taken(slots.take(tenant, open()));
      order.push(tenant);
      release();
    });
    first();
    await Promise.all(runs);
    expect(order).toEqual(['greedy', 'modest', 'greedy', 'greedy']);
  });

  test('lose a waiter whose signal is aborted, and give its turn to the next', async () => {
    const slots = new Slots({ size: 1, queueLimit: 1 });
    const caller = new AbortController();
    const first = await taken(slots.take('a', open()));
    const leaving = slots.take('a', caller.signal);
    caller.abort();
    expect(await leaving).toEqual({ kind: 'aborted' });
    expect(slots.waiting).toBe(0);
    const next = slots.take('a', open());
    first();
    expect((await next).kind).toBe('taken');
  });

  test('are not given for a signal that is aborted already', async () => {
    const slots = new Slots({ size: 1, queueLimit: 1 });
    expect(await slots.take('a', AbortSignal.abort())).toEqual({ kind: 'aborted' });
    expect(slots.running).toBe(0);
  });

  test('released twice count once', async () => {
    const slots = new Slots({ size: 2, queueLimit: 0 });
    const first = await taken(slots.take('a', open()));
    await taken(slots.take('a', open()));
    first();
    first();
    expect(slots.running).toBe(1);
  });

  test('once closed send everybody away', async () => {
    const slots = new Slots({ size: 1, queueLimit: 1 });
    await slots.take('a', open());
    const waiting = slots.take('a', open());
    slots.close();
    expect(await waiting).toEqual({ kind: 'closed' });
    expect(await slots.take('a', open())).toEqual({ kind: 'closed' });
  });
});

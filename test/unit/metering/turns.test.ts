import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../../src/metering/turns.ts';

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

it('runs tasks one after the other, in the order they came', async () => {
  const turns = createTurns(1, 10, () => new Error('full'));
  const seen: string[] = [];
  const first = gate();
  const tasks = [
    turns.take(async () => {
      await first.opened;
      seen.push('a');
    }),
    turns.take(async () => seen.push('b')),
    turns.take(async () => seen.push('c')),
  ];
  await tick();
  expect(seen).toEqual([]);
  first.open();
  await Promise.all(tasks);
  expect(seen).toEqual(['a', 'b', 'c']);
});

it('refuses at once when too many wait, and takes tasks again afterwards', async () => {
  const turns = createTurns(1, 1, () => new Error('full'));
  const first = gate();
  const running = turns.take(() => first.opened);
  const waiting = turns.take(async () => 'waited');
  await expect(turns.take(async () => 'third')).rejects.toThrow('full');
  first.open();
  await running;
  expect(await waiting).toBe('waited');
  expect(await turns.take(async () => 'later')).toBe('later');
});

it('goes on after a task that throws', async () => {
  const turns = createTurns(1, 5, () => new Error('full'));
  const failed = turns.take(async () => {
    throw new Error('broken');
  });
  const next = turns.take(async () => 'next');
  await expect(failed).rejects.toThrow('broken');
  expect(await next).toBe('next');
});

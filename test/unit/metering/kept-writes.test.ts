import { expect, it } from 'vitest';
import { createKeptWrites } from '../../../src/metering/kept-writes.ts';
import { LedgerUnavailable } from '../../../src/metering/ledger.ts';

function bench() {
  const store = { down: false, written: [] as string[] };
  const told = { kept: [] as number[], dropped: [] as unknown[] };
  const kept = createKeptWrites({
    kept: (waiting) => told.kept.push(waiting),
    dropped: (reason) => told.dropped.push(reason),
  });
  const write = (name: string) =>
    kept.write(async () => {
      if (store.down) throw new LedgerUnavailable('down');
      store.written.push(name);
    });
  return { store, told, kept, write };
}

it('writes at once while the ledger answers', async () => {
  const { store, kept, write } = bench();
  await write('a');
  expect(store.written).toEqual(['a']);
  expect(kept.size).toBe(0);
});

it('keeps writes in their order and makes them when the ledger answers again, by itself', async () => {
  const { store, kept, write } = bench();
  store.down = true;
  await write('a');
  await write('b');
  expect(store.written).toEqual([]);
  expect(kept.size).toBe(2);
  store.down = false;
  await expect.poll(() => store.written, { timeout: 20_000 }).toEqual(['a', 'b']);
});

it('goes on trying by itself while the ledger stays away', async () => {
  const { kept } = bench();
  let tries = 0;
  await kept.write(async () => {
    tries += 1;
    if (tries < 4) throw new LedgerUnavailable('down');
  });
  await expect.poll(() => kept.size, { timeout: 20_000 }).toBe(0);
  expect(tries).toBe(4);
});

it('puts a new write behind the kept ones', async () => {
  const { store, write } = bench();
  store.down = true;
  await write('a');
  store.down = false;
  await write('b');
  expect(store.written).toEqual(['a', 'b']);
});

it('drops a write that can never work, and goes on with the others', async () => {
  const { store, told, kept, write } = bench();
  store.down = true;
  await write('a');
  await kept.write(async () => {
    throw new Error('a fault of ours');
  });
  await write('b');
  store.down = false;
  expect(await kept.flush()).toBe(true);
  expect(store.written).toEqual(['a', 'b']);
  expect(told.dropped).toHaveLength(1);
});

it('is bounded, and says what it drops at the bound', async () => {
  const { store, told, kept, write } = bench();
  store.down = true;
  await write('a');
  // Each further write tries the head again; the store answers at once here.
  for (let index = 1; index < 10_000; index += 1) await write('x');
  expect(told.dropped).toHaveLength(0);
  await write('one too many');
  expect(kept.size).toBe(10_000);
  expect(told.dropped).toHaveLength(1);
});

it('tries once more when it is closed, and keeps nothing after that', async () => {
  const { store, told, kept, write } = bench();
  store.down = true;
  await write('a');
  store.down = false;
  await kept.close();
  expect(store.written).toEqual(['a']);
  store.down = true;
  await write('late');
  expect(kept.size).toBe(0);
  expect(told.dropped).toHaveLength(1);
});

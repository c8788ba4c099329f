import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { LedgerUnavailable } from '../../../src/metering/ledger.ts';
import { createSqlAccess, type SqlAccess } from '../../../src/metering/sql-access.ts';
import type { SqlDialect } from '../../../src/metering/sql-dialect.ts';
import { type Bench, createBench, openPermit } from './fixture.ts';
import { STORES } from './store.ts';

function accessOn(dialect: SqlDialect): SqlAccess {
  return createSqlAccess({
    dialect,
    clock: systemClock,
    lockWaitMs: 5000,
    reconnectMs: 0,
    observe: () => {},
  });
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe.each(STORES)('on %s', (kind) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await createBench(kind);
  });
  afterEach(() => bench.close());

  it('reads the store as it was at one moment', async () => {
    await bench.ledger().verify();
    const access = accessOn(bench.store.dialect());
    const counts = await access.read('check', async (db) => {
      const count = async () => {
        const { rows } = await sql<{ n: number }>`select count(*) as n from instances`.execute(db);
        return Number(rows[0]?.n);
      };
      const before = await count();
      await bench.store.sql("insert into instances (instance, expires_at) values ('x', 1)");
      return [before, await count()];
    });
    expect(counts).toEqual([0, 0]);
    await access.close();
  });

  it('starts a write over whose snapshot was overtaken, and writes nothing in a read', async () => {
    await bench.ledger().verify();
    await bench.store.sql("insert into instances (instance, expires_at) values ('x', 1)");
    const access = accessOn(bench.store.dialect());
    let tries = 0;
    await access.writeOnSnapshot('recover', async (db) => {
      tries += 1;
      await sql`select * from instances`.execute(db);
      // A file has one writer from the start of a transaction, so nobody can overtake there.
      if (tries === 1 && kind === 'postgres') await bench.store.sql('update instances set expires_at = 2');
      await sql`update instances set expires_at = expires_at + 10`.execute(db);
    });
    expect(tries).toBe(kind === 'postgres' ? 2 : 1);
    expect(await bench.store.sql('select expires_at from instances')).toEqual([
      { expires_at: kind === 'postgres' ? 12 : 11 },
    ]);
    await access.close();
  });

  it('tells usage while somebody else holds the lock that permits need', async () => {
    const meter = bench.meter(bench.ledger({ lockWaitMs: 200 }));
    await (await openPermit(meter)).release();
    const unlock = await bench.store.lock('acme');
    expect(await meter.usage('acme')).toMatchObject({ openPermits: 0 });
    await unlock();
  });

  it('lets go of a connection that comes when it is closed already', async () => {
    const dialect = bench.store.dialect();
    const asked = gate();
    const connect = gate();
    let destroyed = 0;
    const access = accessOn({
      ...dialect,
      async connect() {
        asked.open();
        await connect.opened;
        const db = await dialect.connect();
        return new Proxy(db, {
          get(target, name) {
            if (name === 'destroy') destroyed += 1;
            const value = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      },
    });
    const reading = access.read('check', async () => 1).catch(() => 'refused');
    await asked.opened;
    const closing = access.close();
    connect.open();
    await reading;
    await closing;
    expect(destroyed).toBeGreaterThan(0);
    await expect(access.read('check', async () => 1)).rejects.toThrow(LedgerUnavailable);
  });
});

it('opens one new connection for operations that lose theirs together', async () => {
  const bench = await createBench('postgres');
  const dialect = bench.store.dialect();
  const lost = new Error('lost');
  let connects = 0;
  const access = accessOn({
    ...dialect,
    connect() {
      connects += 1;
      return dialect.connect();
    },
    faultOf: (error) => (error === lost ? 'lost' : dialect.faultOf(error)),
  });
  const [first, second] = [gate(), gate()];
  const losing = ({ opened }: ReturnType<typeof gate>) => {
    const reached = gate();
    const failed = access.read('check', async () => {
      reached.open();
      await opened;
      throw lost;
    });
    failed.catch(() => {});
    return { reached: reached.opened, failed };
  };
  const [one, two] = [losing(first), losing(second)];
  await Promise.all([one.reached, two.reached]);
  first.open();
  await expect(one.failed).rejects.toThrow(LedgerUnavailable);
  await access.read('check', async () => 1);
  second.open();
  await expect(two.failed).rejects.toThrow(LedgerUnavailable);
  await access.read('check', async () => 1);
  expect(connects).toBe(2);
  await access.close();
  await bench.close();
});

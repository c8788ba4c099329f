import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { type Clock, elapsedMs } from '../clock.ts';
import { type LedgerOp, LedgerUnavailable } from './ledger.ts';
import { migrate } from './migrate.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { LedgerTables } from './sql-schema.ts';
import { createTurns } from './turns.ts';

/** Told after every operation, for metrics. */
export type LedgerObserver = (op: LedgerOp, ms: number, ok: boolean) => void;

export interface SqlAccessOptions {
  readonly dialect: SqlDialect;
  readonly clock: Clock;
  /** How long an operation waits for its turn and for the store's lock, in ms. */
  readonly lockWaitMs: number;
  /** The least time between two attempts to open the store, in ms. */
  readonly reconnectMs: number;
  readonly observe: LedgerObserver;
}

type Task<T> = (trx: Transaction<LedgerTables>) => Promise<T>;

/** Runs operations on the store, one transaction each; throws LedgerUnavailable where the store cannot. */
export interface SqlAccess {
  /** Every read of the task sees the store at one moment. */
  read<T>(op: LedgerOp, task: Task<T>): Promise<T>;
  write<T>(op: LedgerOp, task: Task<T>): Promise<T>;
  /** A write of one statement: a transaction by itself where the dialect can, without the two that begin and commit one. */
  single<T>(op: LedgerOp, statement: (db: Kysely<LedgerTables>) => Promise<T>): Promise<T>;
  /** A write whose reads, too, are of one moment; started over where what it changes was changed since. */
  writeOnSnapshot<T>(op: LedgerOp, task: Task<T>): Promise<T>;
  close(): Promise<void>;
}

/** Operations waiting for their turn. Past it they are refused: the service's own caps are far below. */
const WAITING_MAX = 1000;

/**
 * The connection and its faults: opens (and migrates) when first needed, waits for a busy store without
 * blocking, drops a broken connection and opens a new one for a later operation.
 */
export function createSqlAccess(options: SqlAccessOptions): SqlAccess {
  const { dialect, clock, lockWaitMs, reconnectMs, observe } = options;
  const refuse = () => new LedgerUnavailable('Too many operations wait for the ledger.');
  const turns = createTurns(dialect.concurrency, WAITING_MAX, refuse);
  let store: Store | null = null;
  let opening: Promise<Store> | null = null;
  let failure: { readonly atNs: bigint; readonly error: unknown } | null = null;
  let closed = false;

  async function connected(): Promise<Store> {
    if (closed) throw new LedgerUnavailable('The ledger is closed.');
    if (store !== null) {
      dialect.assertAttached();
      return migrated(store);
    }
    // A broken connection can hold descriptors for a while: so a store that fails is not opened in a loop.
    if (failure !== null && elapsedMs(clock, failure.atNs) < reconnectMs) throw unavailable(failure.error);
    opening ??= dialect
      .connect()
      .then(async (db) => {
        const opened = { db, migration: null };
        if (closed) await db.destroy();
        else store = opened;
        return opened;
      })
      .finally(() => {
        opening = null;
      });
    return migrated(await opening);
  }

  /** Once a connection, whoever comes first; tried again where it failed. */
  async function migrated(used: Store): Promise<Store> {
    used.migration ??= migrate(used.db, dialect, clock.now());
    try {
      await used.migration;
    } catch (error) {
      used.migration = null;
      throw error;
    }
    return used;
  }

  async function drop(used: Store | null): Promise<void> {
    // Operations that fail together leave the new connection alone that the first of them led to.
    if (used === store) store = null;
    // What a broken connection says to its end is of no interest.
    await used?.db.destroy().catch(() => {});
  }

  async function attempt<T>(task: (db: Kysely<LedgerTables>) => Promise<T>, startNs: bigint): Promise<T> {
    for (;;) {
      if (elapsedMs(clock, startNs) > lockWaitMs) {
        throw new LedgerUnavailable('The ledger was busy for too long.');
      }
      let used: Store | null = null;
      try {
        used = await connected();
        return await task(used.db);
      } catch (error) {
        if (error instanceof LedgerUnavailable) throw error;
        const fault = dialect.faultOf(error);
        if (fault === 'bug') throw error;
        if (fault === 'busy') {
          // The connection is kept. Jitter keeps two processes on one store from asking in step.
          await sleep(2 + Math.random() * 18);
          continue;
        }
        if (fault === 'lost') {
          failure = { atNs: clock.monotonicNs(), error };
          // Not awaited: the end of a pool waits for the operations of others.
          void drop(used ?? store);
        }
        throw unavailable(error, used !== null);
      }
    }
  }

  async function run<T>(op: LedgerOp, task: (db: Kysely<LedgerTables>) => Promise<T>): Promise<T> {
    const startNs = clock.monotonicNs();
    let ok = false;
    try {
      const result = await turns.take(() => attempt(task, startNs));
      ok = true;
      return result;
    } finally {
      observe(op, elapsedMs(clock, startNs), ok);
    }
  }

  return {
    read: (op, task) =>
      run(op, (db) =>
        db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(task),
      ),
    write: (op, task) => run(op, (db) => db.transaction().execute(task)),
    single: (op, statement) =>
      run(op, (db) => (dialect.loneStatements ? statement(db) : db.transaction().execute(statement))),
    writeOnSnapshot: (op, task) =>
      run(op, (db) => db.transaction().setIsolationLevel('repeatable read').execute(task)),
    async close() {
      if (closed) return;
      closed = true;
      // Behind whatever is under way.
      await turns.take(() => drop(store)).catch(() => {});
      dialect.close();
    },
  };
}

/** An open connection, and its schema being brought up to date; null before the first try and after a failed one. */
interface Store {
  readonly db: Kysely<LedgerTables>;
  migration: Promise<void> | null;
}

function unavailable(cause: unknown, mayHaveWritten = false): LedgerUnavailable {
  const reason = cause instanceof Error ? cause.message : 'unknown';
  return new LedgerUnavailable(`The ledger does not work: ${reason}`, { cause, mayHaveWritten });
}

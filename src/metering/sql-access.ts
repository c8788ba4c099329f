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

/** Runs operations on the store, one transaction each; throws LedgerUnavailable where the store cannot. */
export interface SqlAccess {
  read<T>(op: LedgerOp, task: (db: Kysely<LedgerTables>) => Promise<T>): Promise<T>;
  write<T>(op: LedgerOp, task: (trx: Transaction<LedgerTables>) => Promise<T>): Promise<T>;
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
  let connection: Promise<Kysely<LedgerTables>> | null = null;
  let migrated = false;
  let failure: { readonly atNs: bigint; readonly error: unknown } | null = null;
  let closed = false;

  async function connected(): Promise<Kysely<LedgerTables>> {
    if (closed) throw new LedgerUnavailable('The ledger is closed.');
    if (connection === null) {
      // A broken connection can hold descriptors for a while: so a store that fails is not opened in a loop.
      if (failure !== null && elapsedMs(clock, failure.atNs) < reconnectMs) throw unavailable(failure.error);
      connection = open();
    } else {
      dialect.assertAttached();
    }
    const db = await connection;
    if (!migrated) await migrate(db, dialect, clock.now());
    migrated = true;
    return db;
  }

  async function open(): Promise<Kysely<LedgerTables>> {
    try {
      return await dialect.connect();
    } catch (error) {
      connection = null;
      throw error;
    }
  }

  async function disconnect(): Promise<void> {
    const broken = connection;
    connection = null;
    migrated = false;
    // What a broken connection says to its end is of no interest.
    await broken?.then((db) => db.destroy()).catch(() => {});
  }

  async function attempt<T>(task: (db: Kysely<LedgerTables>) => Promise<T>, startNs: bigint): Promise<T> {
    for (;;) {
      if (elapsedMs(clock, startNs) > lockWaitMs) {
        throw new LedgerUnavailable('The ledger was busy for too long.');
      }
      let reached = false;
      try {
        const db = await connected();
        reached = true;
        return await task(db);
      } catch (error) {
        if (error instanceof LedgerUnavailable) throw error;
        const fault = dialect.faultOf(error);
        if (fault === 'bug') throw error;
        if (fault === 'busy') {
          // The connection is kept. Jitter keeps two processes on one file from asking in step.
          await sleep(2 + Math.random() * 18);
          continue;
        }
        if (fault === 'lost') {
          failure = { atNs: clock.monotonicNs(), error };
          await disconnect();
        }
        throw unavailable(error, reached);
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
    read: run,
    write: (op, task) => run(op, (db) => db.transaction().execute(task)),
    async close() {
      if (closed) return;
      closed = true;
      // Behind whatever is under way.
      await turns.take(disconnect).catch(() => {});
      dialect.close();
    },
  };
}

function unavailable(cause: unknown, mayHaveWritten = false): LedgerUnavailable {
  const reason = cause instanceof Error ? cause.message : 'unknown';
  return new LedgerUnavailable(`The ledger does not work: ${reason}`, { cause, mayHaveWritten });
}

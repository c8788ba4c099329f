import type { Kysely, Transaction } from 'kysely';
import type { LedgerTables } from './sql-schema.ts';

/**
 * What a store's error means. busy: somebody else holds it, try again in a moment; full: this write failed, the
 * connection is fine; lost: the connection is not to be used again; bug: none of these, to be thrown on.
 */
export type StoreFault = 'busy' | 'full' | 'lost' | 'bug';

/** Everything in which two SQL stores differ; the rest of the ledger is written once, in kysely. */
export interface SqlDialect {
  /** Transactions at once. SQLite has one writer and this process one connection to it: 1. */
  readonly concurrency: number;
  /** Whether a read can lock its rows (`for update`). Where not, a transaction is exclusive from its start. */
  readonly rowLocks: boolean;
  /** Whether one statement may be executed outside a transaction. Where not, a write of one begins and commits one. */
  readonly loneStatements: boolean;
  /** Opens a connection, durable on commit and isolated enough that a quota check and its insert are one. */
  connect(): Promise<Kysely<LedgerTables>>;
  /** Throws where the connection no longer reaches the store it was opened on. */
  assertAttached(): void;
  faultOf(error: unknown): StoreFault;
  /** Makes processes that start at the same time migrate one after the other. */
  lockSchema(trx: Transaction<LedgerTables>): Promise<void>;
  /** Takes, or keeps, this process's mark of life. Called inside a write transaction. */
  claim(instance: string): void;
  /**
   * Whether a process is alive, where the store's host can tell at once; null where only the lease tells.
   * Called inside a write transaction, like `forget`, which removes the mark of a process that is gone.
   */
  isAlive(instance: string): boolean | null;
  forget(instance: string): void;
  /** Lets go of this process's marks of life. */
  close(): void;
}

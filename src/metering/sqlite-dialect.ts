import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type TransactionSettings,
} from 'kysely';
import Database from 'libsql';
import { createInstanceLocks } from './instance-locks.ts';
import type { SqlDialect, StoreFault } from './sql-dialect.ts';
import type { LedgerTables } from './sql-schema.ts';

/** SQLite waits for a lock by blocking the event loop: so hardly at all; the ledger retries asynchronously. */
const BUSY_TIMEOUT_MS = 5;
/** The ledger has about twenty statements; past the bound one is prepared for each use. */
const STATEMENTS_MAX = 64;

/**
 * A ledger in one SQLite file on a local disk: WAL, a full sync at every commit (NORMAL may lose the last
 * commits with the power), every transaction immediate. The folder is created. A file that was there once and
 * is missing later is not created anew: an empty ledger would give every tenant a fresh quota.
 */
export function sqliteDialect(options: { readonly path: string }): SqlDialect {
  const { path } = options;
  const locks = createInstanceLocks(`${path}.instances`);
  let inode: number | null = null;

  return {
    concurrency: 1,
    rowLocks: false,
    // A statement outside one is what finds the store busy: see ImmediateDriver.
    loneStatements: false,
    async connect() {
      // SQLite gives its log files the mode of the file: made read-only, they would outlive the file's repair.
      if (inode !== null || existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
      else mkdirSync(dirname(path), { recursive: true });
      const database = openDatabase(path);
      inode = statSync(path).ino;
      return new Kysely<LedgerTables>({
        dialect: {
          createAdapter: () => new SqliteAdapter(),
          createDriver: () => new ImmediateDriver(database),
          createIntrospector: (db) => new SqliteIntrospector(db),
          createQueryCompiler: () => new SqliteQueryCompiler(),
        },
      });
    },
    assertAttached() {
      // SQLite goes on writing to a deleted or replaced file, and everything written there is lost.
      if (statSync(path).ino !== inode) throw new UnfitStore('its file was replaced');
    },
    faultOf,
    // A transaction has the only write lock from its start.
    lockSchema: async () => {},
    claim: (instance) => locks.claim(instance),
    isAlive: (instance) => locks.isHeld(instance),
    forget: (instance) => locks.forget(instance),
    close: () => locks.close(),
  };
}

/** The store is not what a ledger needs, or not the one that was opened. */
class UnfitStore extends Error {}

/** Kysely's own driver, but for the ends of a transaction. */
class ImmediateDriver extends SqliteDriver {
  readonly #database: Database.Database;
  constructor(database: Database.Database) {
    super({ database: withStatementCache(database) });
    this.#database = database;
  }

  /**
   * A plain `begin` locks at the first write only, and that fails where another process wrote since. One that
   * only reads needs no lock: it sees the store as it was at its first read. By exec: libsql leaves a prepared
   * statement that found the store busy under way, and each later commit on its connection is refused as busy too.
   */
  override async beginTransaction(
    _connection: DatabaseConnection,
    settings: TransactionSettings = {},
  ): Promise<void> {
    this.#database.exec(settings.accessMode === 'read only' ? 'begin' : 'begin immediate');
  }

  override async commitTransaction(): Promise<void> {
    this.#database.exec('commit');
  }

  /** SQLite has rolled back by itself on a full disk; saying so again would hide the cause behind an error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

function openDatabase(path: string): Database.Database {
  const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // By exec, because a prepared statement keeps the descriptors of a closed database until it is collected,
    // and a read-only ledger is opened again and again.
    database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    database.exec('begin immediate');
    database.exec('rollback');
    const mode = database.prepare('pragma journal_mode').all([]) as { journal_mode: string }[];
    const sync = database.prepare('pragma synchronous').all([]) as { synchronous: number }[];
    if (mode[0]?.journal_mode !== 'wal' || sync[0]?.synchronous !== 2) {
      throw new UnfitStore('its file system does not support write-ahead logging');
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function withStatementCache(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement = database.prepare(sql) as unknown as SqliteStatement;
      if (statements.size < STATEMENTS_MAX) statements.set(sql, statement);
      return statement;
    },
    close() {
      statements.clear();
      // The native handle closes when its statements are collected. The file is to be complete now, so that a
      // copy of it alone is a backup; where that fails, the next start reads the log.
      try {
        database.exec('pragma wal_checkpoint(truncate)');
      } catch {}
      database.close();
    },
  };
}

function faultOf(error: unknown): StoreFault {
  if (error instanceof UnfitStore) return 'lost';
  if (error instanceof Database.SqliteError) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) return 'busy';
    if (error.code.startsWith('SQLITE_CONSTRAINT')) return 'bug';
    return error.code === 'SQLITE_FULL' ? 'full' : 'lost';
  }
  if (!(error instanceof Error)) return 'bug';
  // The file system (mkdir, stat), or libsql failing to open the file: it says so in a plain Error.
  if ('syscall' in error || error.message.startsWith('ConnectionFailed')) return 'lost';
  return 'bug';
}

import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { SqlDialect, StoreFault } from './sql-dialect.ts';
import type { LedgerTables } from './sql-schema.ts';

/** Connections of one process: a dozen replicas fit into a server's default of 100. */
const CONNECTIONS = 8;
/** A server that does not answer within these is away: a request waits no longer for it than for a locked file. */
const CONNECT_MS = 3000;
const LOCK_MS = 1000;
const STATEMENT_MS = 4000;
/** Ours, for a server that has vanished without a word and so keeps no limit of its own. */
const QUERY_MS = 5000;
/** A process that is stopped inside a transaction must not hold a tenant's row for ever. */
const IDLE_IN_TRANSACTION_MS = 10_000;
/** Names the migration lock among a database's advisory locks; any number does that nobody else takes. */
const SCHEMA_LOCK = 6_214_507_331;
const INT8 = 20;

/**
 * A ledger in a PostgreSQL database (12 or newer) that several replicas share: a permit is opened under the lock
 * of the tenant's row, commits wait for the disk. It tells a dead process by its lease alone. A pooler in
 * between must pool sessions, as settings belong to them.
 */
export function postgresDialect(options: { readonly url: string }): SqlDialect {
  return {
    concurrency: CONNECTIONS,
    rowLocks: true,
    loneStatements: true,
    async connect() {
      const pool = createPool(options.url);
      const db = new Kysely<LedgerTables>({
        dialect: new PostgresDialect({ pool: { connect: () => acquire(pool), end: () => pool.end() } }),
      });
      try {
        await sql`select 1`.execute(db);
        return db;
      } catch (error) {
        await db.destroy();
        throw error;
      }
    },
    assertAttached() {},
    faultOf,
    async lockSchema(trx) {
      await sql`select pg_advisory_xact_lock(${sql.lit(SCHEMA_LOCK)})`.execute(trx);
    },
    claim() {},
    isAlive: () => null,
    forget() {},
    close() {},
  };
}

/** No connection could be had. */
class Unreachable extends Error {}

function createPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    application_name: 'compute-step',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    query_timeout: QUERY_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
    // A server that acknowledges commits it has not written would lose runs with its power.
    onConnect: async (client) => {
      await client.query(
        "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
      );
    },
  });
  // A connection that breaks between two queries says so by an event besides, and an unheard `error` would end
  // the process. Idle ones leave the pool by themselves; the next query on one that is in use fails.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new Unreachable(error instanceof Error ? error.message : 'unknown', { cause: error });
  }
}

function typeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  return oid === INT8 && format !== 'binary' ? exactInteger : pg.types.getTypeParser(oid, format);
}

/** A bigint as a number, or an error where a double could not hold it: a count is never rounded. */
function exactInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('The ledger holds an integer past 2^53.');
  return value;
}

/** By SQLSTATE; what is not listed (admin shutdown, start-up, no rights, no table …) is a store to be left alone. */
const BUSY = new Set(['40001', '40P01', '55P03', '57014']);
const FULL = new Set(['53100', '53200']);
const BUG = /^(22|23|42601)/;
/** What the driver itself says of a connection that is gone; it has no codes for that. */
const LOST =
  /^(Connection terminated|Client has encountered|Client was closed|Query read timeout|Postgres connection has been|driver has already|Cannot use a pool)/;

function faultOf(error: unknown): StoreFault {
  if (error instanceof Unreachable) return 'lost';
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    if (BUSY.has(code)) return 'busy';
    if (FULL.has(code)) return 'full';
    return BUG.test(code) ? 'bug' : 'lost';
  }
  if (!(error instanceof Error)) return 'bug';
  return 'syscall' in error || LOST.test(error.message) ? 'lost' : 'bug';
}

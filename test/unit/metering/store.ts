import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import pg from 'pg';
import { inject } from 'vitest';
import { postgresDialect } from '../../../src/metering/postgres-dialect.ts';
import type { SqlDialect } from '../../../src/metering/sql-dialect.ts';
import { sqliteDialect } from '../../../src/metering/sqlite-dialect.ts';
import { startProxy } from '../../fakes/cuttable-proxy.ts';
import { sharedPostgres } from '../../fakes/postgres-shared.ts';

export type Row = Record<string, unknown>;

/** An empty store of one test, of either kind, and what a test does to it behind the ledger's back. */
export interface TestStore {
  /** LEDGER_URL of it. */
  readonly url: string;
  dialect(): SqlDialect;
  /** Names its sessions on the server; empty for a file. */
  readonly sessions: string;
  /** Runs a statement on a connection of its own; bigints come as numbers. */
  sql(statement: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** Takes it away from every ledger. */
  away(): Promise<void>;
  back(): Promise<void>;
  /** Holds a lock that keeps permits of the tenant from being opened, until the answer is called. */
  lock(tenant: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export const STORES = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof STORES)[number];

export function createStore(kind: StoreKind): Promise<TestStore> {
  return kind === 'sqlite' ? Promise.resolve(sqliteStore()) : postgresStore();
}

function sqliteStore(): TestStore {
  const folder = mkdtempSync(join(tmpdir(), 'metering-'));
  const path = join(folder, 'data', 'ledger.db');
  return {
    url: `sqlite:${path}`,
    sessions: '',
    dialect: () => sqliteDialect({ path }),
    async sql(statement, parameters = []) {
      const db = new Database(path);
      try {
        if (!/^\s*select/i.test(statement)) {
          db.prepare(statement).run([...parameters]);
          return [];
        }
        return db.prepare(statement).all([...parameters]) as Row[];
      } finally {
        db.close();
      }
    },
    away: async () => renameSync(path, `${path}.away`),
    back: async () => renameSync(`${path}.away`, path),
    async lock() {
      const holder = new Database(path);
      holder.exec('begin immediate');
      return async () => {
        holder.exec('rollback');
        holder.close();
      };
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A schema of the run's server, reached by TCP through a proxy that can be cut. */
async function postgresStore(): Promise<TestStore> {
  const folder = await sharedPostgres(inject('postgresFolder'));
  const schema = `t${process.pid}_${Date.now().toString(36)}_${Math.random().toString(36).slice(2, 8)}`;
  const proxy = await startProxy(join(folder, '.s.PGSQL.5432'));
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ host: folder, user: 'ledger', database: 'postgres', options: path });
    client.setTypeParser(20, Number);
    await client.connect();
    return client;
  };
  const path = `-c search_path=${schema}`;
  const admin = await connect();
  await admin.query(`create schema ${schema}`);
  const url = `postgres://ledger@127.0.0.1:${proxy.port}/postgres?application_name=${schema}&options=${encodeURIComponent(path)}`;
  return {
    url,
    sessions: schema,
    dialect: () => postgresDialect({ url }),
    async sql(statement, parameters = []) {
      let index = 0;
      const { rows } = await admin.query(
        statement.replaceAll('?', () => {
          index += 1;
          return `$${index}`;
        }),
        [...parameters],
      );
      return rows;
    },
    away: proxy.cut,
    back: proxy.mend,
    async lock(tenant) {
      const holder = await connect();
      await holder.query('begin');
      await holder.query('select 1 from monthly_totals where tenant = $1 for update', [tenant]);
      return () => holder.end();
    },
    async close() {
      await proxy.cut();
      await admin.query(`drop schema ${schema} cascade`);
      await admin.end();
    },
  };
}

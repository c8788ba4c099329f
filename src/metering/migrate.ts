import type { Kysely, Transaction } from 'kysely';
import { LedgerUnavailable } from './ledger.ts';
import { MIGRATIONS, type Migration } from './migrations/versions.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { LedgerTables } from './sql-schema.ts';

/** The code of version N works on a schema of N + 1, so that replicas can be upgraded one by one. */
const NEWER_SCHEMAS_TOLERATED = 1;

/**
 * Brings the schema up to date in one transaction: another process that starts at the same time waits, a crash
 * leaves the old schema. Refuses a ledger that is two or more versions newer than this code.
 */
export async function migrate(
  db: Kysely<LedgerTables>,
  dialect: SqlDialect,
  now: Date,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const known = Math.max(...migrations.map(({ version }) => version));
  await db.transaction().execute(async (trx) => {
    await dialect.lockSchema(trx);
    await trx.schema
      .createTable('schema_version')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.primaryKey())
      .addColumn('applied_at', 'bigint', (column) => column.notNull())
      .execute();
    const current = await schemaVersion(trx);
    if (current > known + NEWER_SCHEMAS_TOLERATED) {
      throw new LedgerUnavailable(
        `The ledger has schema ${current}, this version works with up to ${known + NEWER_SCHEMAS_TOLERATED}: ` +
          'start the newer version of the service.',
      );
    }
    for (const { version, up } of migrations) {
      if (version <= current) continue;
      await up(trx as unknown as Kysely<never>);
      await trx.insertInto('schema_version').values({ version, applied_at: now.getTime() }).execute();
    }
  });
}

async function schemaVersion(trx: Transaction<LedgerTables>): Promise<number> {
  const row = await trx
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  return Number(row?.version ?? 0);
}

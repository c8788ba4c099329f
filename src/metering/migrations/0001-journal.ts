import { type Kysely, sql } from 'kysely';

/** Version 1: journal, totals, outcomes, instances. Text, bigint and integer mean the same in both dialects. */
export async function createJournal(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('journal')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('state', 'text', (column) =>
      column.notNull().check(sql`state in ('open', 'started', 'settled', 'released')`),
    )
    .addColumn('wall_ns', 'bigint')
    .addColumn('seconds', 'bigint')
    .addColumn('outcome', 'text')
    .addColumn('pack_digest', 'text', (column) => column.notNull())
    .addColumn('code_sha256', 'text')
    .addColumn('instance', 'text', (column) => column.notNull())
    .execute();
  // Counting a tenant's open permits and finding what dead processes left must not read the whole journal.
  await db.schema
    .createIndex('journal_by_state')
    .on('journal')
    .columns(['state', 'tenant', 'month'])
    .execute();
  // Retention looks for the oldest rows.
  await db.schema.createIndex('journal_by_end').on('journal').column('finished_at').execute();
  // The month leads, so that the newest month is one step down the index.
  await db.schema
    .createTable('monthly_totals')
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('compute_runs', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('compute_seconds', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('pruned_runs', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('pruned_seconds', 'bigint', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('monthly_totals_key', ['month', 'tenant'])
    .execute();
  await db.schema
    .createTable('monthly_outcomes')
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('runs', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('pruned_runs', 'bigint', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('monthly_outcomes_key', ['month', 'tenant', 'outcome'])
    .execute();
  await db.schema
    .createTable('instances')
    .addColumn('instance', 'text', (column) => column.primaryKey())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
}

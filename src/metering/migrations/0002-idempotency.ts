import { type Kysely, sql } from 'kysely';

/** Version 2: which rows a request with an Idempotency-Key led to. Rows of the version before have none. */
export async function addIdempotencyDigest(db: Kysely<never>): Promise<void> {
  await db.schema.alterTable('journal').addColumn('idempotency_digest', 'text').execute();
  // Partial: most rows have no key, and every permit of a request with one looks its key up.
  await db.schema
    .createIndex('journal_by_key')
    .on('journal')
    .column('idempotency_digest')
    .where(sql<boolean>`idempotency_digest is not null`)
    .execute();
}

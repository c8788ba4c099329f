import type { Kysely } from 'kysely';
import { createJournal } from './0001-journal.ts';
import { addIdempotencyDigest } from './0002-idempotency.ts';

/** One step of the schema. A step that was released is never edited: a later one changes what it made. */
export interface Migration {
  readonly version: number;
  readonly up: (db: Kysely<never>) => Promise<void>;
}

/**
 * Every step, oldest first. Each must leave a schema that the code of the version before still works with (add
 * columns with defaults, never rename or drop what that code uses), so that replicas can be upgraded in turn.
 */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, up: createJournal },
  { version: 2, up: addIdempotencyDigest },
];

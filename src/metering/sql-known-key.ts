import type { Transaction } from 'kysely';
import type { OpenResult } from './ledger.ts';
import type { IdempotencyClaim } from './permit.ts';
import type { LedgerTables } from './sql-schema.ts';

/**
 * What a tenant's Idempotency-Key led to within its time, or null. A permit that was given back counts for
 * nothing: its request asks anew. A row from before the clock was set back is still known.
 */
export async function knownKey(
  trx: Transaction<LedgerTables>,
  tenant: string,
  claim: IdempotencyClaim | null | undefined,
  now: Date,
): Promise<Extract<OpenResult, { kind: 'known' }> | null> {
  if (!claim) return null;
  const row = await trx
    .selectFrom('journal')
    .select(['id', 'outcome'])
    .where('idempotency_digest', '=', claim.digest)
    .where('tenant', '=', tenant)
    .where('state', '!=', 'released')
    .where('opened_at', '>', now.getTime() - claim.ttlMs)
    .orderBy('opened_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : { kind: 'known', runId: row.id, outcome: row.outcome };
}

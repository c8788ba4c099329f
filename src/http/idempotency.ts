import { createHmac, randomBytes } from 'node:crypto';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { HttpAnswer } from './http-answer.ts';

/** What a key leads to: a first request, one that is still running, another body, or the answer there was. */
export type KeyState =
  | { readonly kind: 'first'; finish(answer: HttpAnswer | null): void }
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'replay'; readonly answer: HttpAnswer };

/**
 * The answers of requests with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07), a tenant's own.
 * In memory only, as answers hold results; for `ttlMs` after the answer, within `maxBytes` over all.
 */
export interface IdempotencyStore {
  /** Claims a key for a body. `finish(null)` frees it: an answer that counted nothing may be tried again. */
  claim(tenant: string, key: string, fingerprint: string): KeyState;
  /** A keyed digest of a route and a body, taken in slices so that a large one blocks nobody. */
  fingerprint(route: string, body: Buffer): Promise<string>;
}

export interface IdempotencyOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  /** Answers kept over all tenants. At the bound the oldest go; the ledger still knows that their runs counted. */
  readonly maxBytes: number;
}

interface Entry {
  readonly fingerprint: string;
  /** Null while the first request runs. */
  answer: HttpAnswer | null;
  bytes: number;
  expiresAtNs: bigint;
}

const SLICE_BYTES = 4 * 1024 * 1024;
/** What an entry costs besides its answer's body. */
const ENTRY_BYTES = 1024;

export function createIdempotencyStore({ clock, ttlMs, maxBytes }: IdempotencyOptions): IdempotencyStore {
  // In the order of insertion; entries in flight are bounded by the requests in work, answers by `maxBytes`.
  const entries = new Map<string, Entry>();
  const secret = randomBytes(32);
  let heldBytes = 0;

  const drop = (id: string, entry: Entry): void => {
    entries.delete(id);
    heldBytes -= entry.bytes;
  };

  const forgetOld = (): void => {
    const nowNs = clock.monotonicNs();
    for (const [id, entry] of entries) {
      if (entry.answer === null) {
        continue;
      }
      // Answers stand in the order they were given, so behind the first that stays all stay.
      if (entry.expiresAtNs > nowNs && heldBytes <= maxBytes) {
        return;
      }
      drop(id, entry);
    }
  };

  const keep = (id: string, entry: Entry, answer: HttpAnswer): void => {
    entry.answer = answer;
    entry.bytes = ENTRY_BYTES + Buffer.byteLength(answer.body);
    entry.expiresAtNs = clock.monotonicNs() + BigInt(ttlMs) * 1_000_000n;
    heldBytes += entry.bytes;
    // To the end: the oldest answer is the first to go, not the oldest request.
    entries.delete(id);
    entries.set(id, entry);
    forgetOld();
  };

  return {
    claim: (tenant, key, fingerprint) => {
      forgetOld();
      const id = `${tenant}\0${key}`;
      const known = entries.get(id);
      if (known !== undefined) {
        if (known.fingerprint !== fingerprint) {
          return { kind: 'reused' };
        }
        return known.answer === null ? { kind: 'in_flight' } : { kind: 'replay', answer: known.answer };
      }
      const entry: Entry = { fingerprint, answer: null, bytes: 0, expiresAtNs: 0n };
      entries.set(id, entry);
      return {
        kind: 'first',
        finish: (answer) => (answer === null ? drop(id, entry) : keep(id, entry, answer)),
      };
    },
    fingerprint: async (route, body) => {
      const hmac = createHmac('sha256', secret).update(`${route}\0`);
      for (let at = 0; at < body.byteLength; at += SLICE_BYTES) {
        if (at > 0) {
          await yieldToOthers();
        }
        hmac.update(body.subarray(at, at + SLICE_BYTES));
      }
      return hmac.digest('hex');
    },
  };
}

import type { FailureCode } from '../contract/failure.ts';

/** What a counted run ended as, in the ledger's journal: `succeeded` or the code of its failure. */
export type RunOutcome = 'succeeded' | FailureCode;

declare const permitBrand: unique symbol;

/**
 * The right to start one run, counted against the tenant's caps while it is open. Only `Meter.open` makes one.
 * Its life: open -> started -> settled, or open -> released.
 */
export interface Permit {
  readonly [permitBrand]: true;
  readonly runId: string;
  readonly tenant: string;
  /** UTC month, `yyyy-mm`, fixed when the permit was opened. */
  readonly month: string;
  /**
   * Writes *started* durably. The sandbox calls it after it has a container and before it sends the first
   * untrusted byte. False: the ledger could not write it, and nothing may be sent.
   */
  started(codeSha256: string): Promise<boolean>;
}

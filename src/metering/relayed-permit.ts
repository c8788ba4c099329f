import type { Permit } from './permit.ts';

export interface RelayedPermitParts {
  readonly runId: string;
  readonly tenant: string;
  /** UTC month, `yyyy-mm`. */
  readonly month: string;
  /** Asks the process that holds the ledger to write *started*; false if it could not, or does not answer. */
  readonly started: (codeSha256: string) => Promise<boolean>;
}

/**
 * A permit whose ledger is in another process: the real one was opened there, is settled there, and only the start
 * of the run is asked about across. Made by the sandbox daemon alone; it can charge nothing and give nothing back.
 */
export function relayedPermit({ runId, tenant, month, started }: RelayedPermitParts): Permit {
  let starting: Promise<boolean> | null = null;
  const elsewhere = (): Promise<never> =>
    Promise.reject(new Error('a relayed permit is settled in the process that holds the ledger'));
  return {
    runId,
    tenant,
    month,
    used: null,
    started(codeSha256: string) {
      starting ??= started(codeSha256);
      return starting;
    },
    settle: elsewhere,
    amend: elsewhere,
    release: elsewhere,
  } as unknown as Permit;
}

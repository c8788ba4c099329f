import type { Clock } from '../clock.ts';
import { billedSeconds } from './billed-seconds.ts';
import type { KeptWrites } from './kept-writes.ts';
import { type Charged, type Ledger, LedgerUnavailable } from './ledger.ts';
import { utcMonth } from './months.ts';
import type { Metered, Permit, RunOutcome, UsedInMonth } from './permit.ts';

export interface PermitParts {
  readonly ledger: Ledger;
  readonly kept: KeptWrites;
  readonly clock: Clock;
  readonly runId: string;
  readonly tenant: string;
  readonly month: string;
}

/**
 * The permit of a row the ledger has just opened. Only the meter calls this. Each step of its life happens once:
 * a repeated call answers what the first one did. A wall time that is settled was run, so it is charged whether
 * or not `started` was called; a permit that was given back is charged nothing.
 */
export function createPermit(parts: PermitParts): Permit {
  const { ledger, kept, clock, runId, tenant, month } = parts;
  let starting: Promise<boolean> | null = null;
  let settling: Promise<Metered> | null = null;
  let releasing: Promise<void> | null = null;
  let used: UsedInMonth | null = null;

  async function start(codeSha256: string): Promise<boolean> {
    try {
      return await ledger.started(runId, codeSha256, clock.now());
    } catch (error) {
      if (error instanceof LedgerUnavailable) return false;
      throw error;
    }
  }

  async function charge(wallNs: bigint, outcome: RunOutcome): Promise<Metered> {
    const seconds = billedSeconds(wallNs);
    const finishedAt = clock.now();
    // What the ledger says was charged wins; until it can say so, it is what will be charged.
    let charged: Charged | null = { seconds, used: null };
    await kept.write(async () => {
      charged = await ledger.settle(runId, { finishedAt, wallNs, seconds, outcome });
    });
    if (charged === null) return { computeRuns: 0, computeSeconds: 0 };
    used = utcMonth(finishedAt) > month ? null : charged.used;
    return { computeRuns: 1, computeSeconds: charged.seconds };
  }

  async function giveBack(): Promise<void> {
    if (starting !== null && (await starting.catch(() => false))) return;
    // Where *started* failed it may have been written all the same; nothing was sent, so it is given back too.
    const unsent = starting !== null;
    const now = clock.now();
    await kept.write(() => ledger.release(runId, now, unsent));
  }

  return {
    runId,
    tenant,
    month,
    get used() {
      return used;
    },
    started(codeSha256: string) {
      if (settling !== null || releasing !== null) return Promise.resolve(false);
      starting ??= start(codeSha256);
      return starting;
    },
    settle(wallNs: bigint, outcome: RunOutcome) {
      settling ??= charge(wallNs, outcome);
      return settling;
    },
    async amend(outcome: RunOutcome) {
      if (settling === null) return;
      await settling;
      await kept.write(() => ledger.amend(runId, outcome));
    },
    release() {
      if (settling !== null) return Promise.resolve();
      releasing ??= giveBack();
      return releasing;
    },
  } as Permit;
}

import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../clock.ts';
import { type Problem, problem } from '../contract/problem.ts';
import { createKeptWrites } from './kept-writes.ts';
import { knownKeyProblem } from './known-key-problem.ts';
import { type Lease, type Ledger, LedgerUnavailable, type Recovery } from './ledger.ts';
import { MONTH } from './months.ts';
import type { Meter } from './permit.ts';
import { quotaProblem } from './quota-problem.ts';
import { createPermit } from './run-permit.ts';

/** What the meter tells its owner, for the log. */
export interface MeterEvents {
  readonly recovered?: (recovery: Recovery) => void;
  readonly unavailable?: (error: LedgerUnavailable) => void;
  readonly kept?: (waiting: number) => void;
  readonly dropped?: (reason: unknown) => void;
}

export interface MeterOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The operator's wall limit: the most that recovery charges a run. */
  readonly wallLimitMs: number;
  /** This process's name in the ledger; made unique for each start. */
  readonly instance: string;
  /** How long this process counts as alive without a sign, where the store cannot tell; 30,000 if left out. */
  readonly leaseMs?: number;
  readonly events?: MeterEvents;
}

const UNAVAILABLE_RETRY_SECONDS = 2;

/**
 * The meter over a ledger. It recovers before the first permit is opened, and then, three times a lease, ends
 * what other processes left that have died since. It opens nothing while the ledger owes it a write: quotas are
 * judged on what was really used. `close` makes a last try at those writes and closes the ledger.
 */
export function createMeter(options: MeterOptions): Meter {
  const { ledger, clock, wallLimitMs, events = {}, leaseMs = 30_000 } = options;
  // Rows of an earlier process of the same name must not look like this one's.
  const instance = `${options.instance}:${uuidv7()}`;
  const kept = createKeptWrites({
    kept: (waiting) => events.kept?.(waiting),
    dropped: (reason) => events.dropped?.(reason),
  });
  let recovering: Promise<void> | null = null;
  let recovered = false;
  let checking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  function lease(): Lease {
    const now = clock.now();
    return { instance, now, expiresAt: new Date(now.getTime() + leaseMs) };
  }

  async function recoverNow(): Promise<void> {
    const recovery = await ledger.recover(lease(), wallLimitMs);
    recovered = true;
    if (recovery.settled + recovery.released > 0) events.recovered?.(recovery);
  }

  function recoverOnce(): Promise<void> {
    recovering ??= recoverNow().finally(() => {
      recovering = null;
      keepAlive();
    });
    return recovering;
  }

  /** Goes on whether the last time worked or not: a ledger that was away is joined again when it is back. */
  function keepAlive(): void {
    if (closed || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      void recoverOnce().catch(report);
    }, leaseMs / 3);
    timer.unref();
  }

  function report(error: unknown): void {
    if (error instanceof LedgerUnavailable) events.unavailable?.(error);
    else events.dropped?.(error);
  }

  /** Everything the ledger must know before it can be asked for a permit. */
  async function settleAccounts(): Promise<void> {
    if (!recovered) await recoverOnce();
    if (kept.size > 0 && !(await kept.flush())) {
      throw new LedgerUnavailable('The ledger does not take what earlier runs owe it.');
    }
  }

  function unavailable(error: unknown): Problem {
    if (!(error instanceof LedgerUnavailable)) throw error;
    events.unavailable?.(error);
    return problem('ledger_unavailable', 'The ledger does not take writes now; try again.', {
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      cause: error,
    });
  }

  return {
    async open(tenant, quotas, runId, packDigest, idempotency = null) {
      try {
        await settleAccounts();
        const entry = { runId, tenant, packDigest, instance, idempotency };
        const opened = await ledger.open(entry, quotas, clock.now());
        if (opened.kind === 'refused') return quotaProblem(opened.refusal);
        if (opened.kind === 'known') return knownKeyProblem(opened.runId, opened.outcome);
        return createPermit({ ledger, kept, clock, runId, tenant, month: opened.month });
      } catch (error) {
        if (error instanceof LedgerUnavailable && error.mayHaveWritten) {
          // Else a permit that nobody holds would count against the quota until this process ends.
          const now = clock.now();
          await kept.write(() => ledger.release(runId, now, false));
        }
        return unavailable(error);
      }
    },

    async check(tenant, quotas) {
      try {
        await settleAccounts();
        const refusal = await ledger.check(tenant, quotas, clock.now());
        return refusal === null ? null : quotaProblem(refusal);
      } catch (error) {
        return unavailable(error);
      }
    },

    async usage(tenant, month) {
      if (month !== undefined && !MONTH.test(month)) {
        return problem('invalid_request', 'month must be a UTC month written yyyy-mm, such as 2026-11.');
      }
      try {
        return await ledger.usage(tenant, month ?? null, clock.now());
      } catch (error) {
        return unavailable(error);
      }
    },

    async recover() {
      try {
        await recoverOnce();
      } catch (error) {
        // Not the end: the first permit recovers before it opens, and until then the service is not ready.
        unavailable(error);
      }
    },

    async ready() {
      // Whoever asks while a check is under way gets its answer: probes make no queue.
      checking ??= settleAccounts()
        .then(() => ledger.renew(lease()))
        .finally(() => {
          checking = null;
        });
      try {
        await checking;
        return { ok: true, detail: 'The ledger takes writes.' };
      } catch (error) {
        if (!(error instanceof LedgerUnavailable)) throw error;
        return { ok: false, detail: error.message };
      }
    },

    async close() {
      if (closed) return;
      closed = true;
      if (timer !== null) clearTimeout(timer);
      await recovering?.catch(report);
      await kept.close();
      if (recovered) await ledger.leave(instance).catch(report);
      await ledger.close();
    },
  };
}

import { monthEnd } from './months.ts';
import type { Quotas } from './permit.ts';

/** The two things a tenant's month is counted in, by their names in answers and in the tenants file. */
export type MeterName = 'compute_runs' | 'compute_seconds';

/** What the ledger holds of one tenant's month: charged runs and seconds, and permits that are not settled. */
export interface QuotaState {
  readonly usedRuns: number;
  readonly usedSeconds: number;
  readonly openPermits: number;
}

/** Why no permit can be opened now, and after how many seconds asking again can help. */
export interface QuotaRefusal {
  readonly code: 'quota_exceeded' | 'quota_reserved';
  readonly meter: MeterName;
  readonly used: number;
  readonly openPermits: number;
  readonly limit: number;
  readonly month: string;
  readonly retryAfterSeconds: number;
  /** What was judged: both meters. */
  readonly state: QuotaState;
  readonly quotas: Quotas;
}

/** Open runs end within seconds, so asking again soon is right. */
const RESERVED_RETRY_SECONDS = 1;

/**
 * Judges whether one more permit may be opened in `month`: null is yes. It may while used + open < cap on both
 * meters (an open run costs at least one second); a null cap is unlimited. `quota_exceeded`: the cap is spent
 * until the month's end; `quota_reserved`: open permits hold what is left. A spent meter is told before a
 * reserved one, because waiting for open runs would not help there.
 */
export function judgeQuota(state: QuotaState, quotas: Quotas, month: string, now: Date): QuotaRefusal | null {
  const meters = [
    { meter: 'compute_runs', used: state.usedRuns, limit: quotas.computeRuns },
    { meter: 'compute_seconds', used: state.usedSeconds, limit: quotas.computeSeconds },
  ] as const;
  const { openPermits } = state;
  const judged = { openPermits, month, state, quotas };
  for (const { meter, used, limit } of meters) {
    if (limit !== null && used >= limit) {
      const retryAfterSeconds = secondsToMonthEnd(month, now);
      return { code: 'quota_exceeded', meter, used, limit, retryAfterSeconds, ...judged };
    }
  }
  for (const { meter, used, limit } of meters) {
    if (limit !== null && used + openPermits >= limit) {
      const retryAfterSeconds = RESERVED_RETRY_SECONDS;
      return { code: 'quota_reserved', meter, used, limit, retryAfterSeconds, ...judged };
    }
  }
  return null;
}

/** Whole seconds until a month's quota resets, rounded up so that nobody comes back a moment too early. */
function secondsToMonthEnd(month: string, now: Date): number {
  return Math.max(1, Math.ceil((monthEnd(month).getTime() - now.getTime()) / 1000));
}

import { type Problem, problem } from '../contract/problem.ts';
import { resetsAt } from './months.ts';
import type { QuotaRefusal } from './quota.ts';

/** The 429 of a refusal: which meter, how much of it is used, its limit, both meters, and when to come back. */
export function quotaProblem(refusal: QuotaRefusal): Problem {
  const { code, meter, used, limit, month, openPermits, retryAfterSeconds, state, quotas } = refusal;
  const resets_at = resetsAt(month);
  const detail =
    code === 'quota_exceeded'
      ? `${meter}: ${used} of ${limit} are used in ${month}. Ask for a higher quota, or wait until ${resets_at}.`
      : `${meter}: ${used} of ${limit} are used in ${month} and ${openPermits} open runs hold the rest. Try again.`;
  return problem(code, detail, {
    retryAfterSeconds,
    extra: {
      meter,
      used,
      limit,
      open_permits: openPermits,
      month,
      resets_at,
      quota: {
        month,
        compute_runs: { used: state.usedRuns, limit: quotas.computeRuns },
        compute_seconds: { used: state.usedSeconds, limit: quotas.computeSeconds },
        resets_at,
      },
    },
  });
}

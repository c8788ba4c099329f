import type { Quota } from '../contract/computation.ts';
import type { Problem } from '../contract/problem.ts';
import { monthEnd } from '../metering/months.ts';
import type { StepAnswer } from '../step/answer.ts';
import type { DraftAnswer } from '../step/draft.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * The units of draft-ietf-httpapi-ratelimit-headers-11. It has none for time; without `qu` seconds would read as
 * requests, so they have a name of their own, which a client that does not know it can only leave alone.
 */
const METERS = [
  ['compute_runs', 'requests'],
  ['compute_seconds', 'compute-seconds'],
] as const;

/**
 * `RateLimit-Policy` and `RateLimit` of an answer that knows the tenant's quota: of a Computation, or of a 429
 * for a quota. A policy a meter; an unlimited meter has none. Empty where nothing is known.
 */
export function rateLimitHeaders(end: StepAnswer | DraftAnswer | Problem, now: Date): Headers {
  if (end.kind === 'draft') {
    return {};
  }
  if (end.kind === 'answer') {
    return end.computation.quota === null ? {} : headersOf(end.computation.quota, 0, null, now);
  }
  if (end.code !== 'quota_exceeded' && end.code !== 'quota_reserved') {
    return {};
  }
  const { quota, open_permits: open } = end.extra as { quota: Quota; open_permits: number };
  return headersOf(quota, open, end.code === 'quota_reserved' ? (end.retryAfterSeconds ?? 1) : null, now);
}

/**
 * `heldSeconds`: open runs hold the rest of a meter for about as long, and only such meters are shown then: by
 * the draft `Retry-After` should not come before the end of a window that is told beside it.
 */
function headersOf(quota: Quota, open: number, heldSeconds: number | null, now: Date): Headers {
  const policies: string[] = [];
  const limits: string[] = [];
  for (const [meter, unit] of METERS) {
    const { used, limit } = quota[meter];
    if (limit === null) {
      continue;
    }
    const remaining = Math.max(0, limit - used - open);
    policies.push(`"${meter}";q=${limit};qu="${unit}";w=${monthSeconds(quota.month)}`);
    if (heldSeconds === null || remaining === 0) {
      limits.push(`"${meter}";r=${remaining};t=${heldSeconds ?? secondsLeft(quota.month, now)}`);
    }
  }
  return policies.length === 0
    ? {}
    : { 'ratelimit-policy': policies.join(', '), ratelimit: limits.join(', ') };
}

/** 28 to 31 days: the window is the UTC month, which neither leap seconds nor summer time stretch. */
function monthSeconds(month: string): number {
  return (monthEnd(month).getTime() - Date.parse(`${month}-01T00:00:00Z`)) / 1000;
}

function secondsLeft(month: string, now: Date): number {
  return Math.max(1, Math.ceil((monthEnd(month).getTime() - now.getTime()) / 1000));
}

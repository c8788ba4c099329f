/** A request is tried again at most this many times. */
export const MAX_RETRIES = 2;

const BASE_MS = 500;
const MAX_MS = 8_000;

/** What a webhook may ask for counts as at most a day; a caller is told the same. */
const MAX_ASKED_MS = 86_400_000;

/** Only these answers say that the request was not taken; another status is final. */
const RETRIED_STATUSES: readonly number[] = [429, 502, 503, 504];

export function isRetriedStatus(status: number | undefined): boolean {
  return status !== undefined && RETRIED_STATUSES.includes(status);
}

/**
 * Milliseconds that a `Retry-After` field asks for, in either form of RFC 9110 (seconds or an HTTP date);
 * null if there is none that can be read. A date in the past is 0; more than a day is a day.
 */
export function retryAfterMs(field: string | undefined, now: Date): number | null {
  const text = field?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Math.min(MAX_ASKED_MS, Number(text) * 1000);
  const httpDate = /^[A-Z][a-z]{2,8}, [\w :-]{1,40} GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(httpDate)) return null;
  return Math.min(MAX_ASKED_MS, Math.max(0, httpDate - now.getTime()));
}

/**
 * Milliseconds to wait before retry `retry` (from 1): full jitter under an exponential ceiling, on top of what
 * the webhook asked for. `random` is from [0, 1).
 */
export function backoffMs(retry: number, askedMs: number | null, random: () => number): number {
  const ceiling = Math.min(MAX_MS, BASE_MS * 2 ** (retry - 1));
  return (askedMs ?? 0) + random() * ceiling;
}

/**
 * Every HTTP error: stable code, status, title, whether trying again can help. RFC 9457 problems are made from
 * this table only. A retired code is never reused.
 */
export const PROBLEMS = {
  invalid_request: { status: 400, retryable: false, title: 'The request is not valid' },
  unauthorized: { status: 401, retryable: false, title: 'The API key is missing or unknown' },
  model_url_refused: { status: 403, retryable: false, title: 'The model URL is not allowed' },
  not_found: { status: 404, retryable: false, title: 'There is nothing at this path' },
  method_not_allowed: { status: 405, retryable: false, title: 'The method is not allowed here' },
  not_acceptable: { status: 406, retryable: false, title: 'The answer cannot be given in that form' },
  request_timeout: { status: 408, retryable: true, title: 'The request took too long to arrive' },
  idempotency_in_flight: { status: 409, retryable: true, title: 'A request with this key is still running' },
  idempotency_answer_lost: {
    status: 409,
    retryable: false,
    title: 'The request with this key was run and counted; its answer is no longer held',
  },
  code_mismatch: { status: 409, retryable: false, title: 'The function is not the one that was expected' },
  body_too_large: { status: 413, retryable: false, title: 'The body is too large' },
  unsupported_media_type: { status: 415, retryable: false, title: 'The body must be application/json' },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: 'This key was used with another body',
  },
  quota_exceeded: { status: 429, retryable: true, title: 'The monthly quota is spent' },
  quota_reserved: { status: 429, retryable: true, title: 'Open runs hold the rest of the quota' },
  too_many_requests: { status: 429, retryable: true, title: 'Too many requests of this tenant at once' },
  request_header_fields_too_large: {
    status: 431,
    retryable: false,
    title: 'The header fields are too large',
  },
  internal_error: { status: 500, retryable: true, title: 'Something went wrong inside the service' },
  model_failed: { status: 502, retryable: true, title: 'The model webhook did not give a function' },
  overloaded: { status: 503, retryable: true, title: 'The service is at its limit' },
  sandbox_unavailable: { status: 503, retryable: true, title: 'The sandbox is not available' },
  ledger_unavailable: { status: 503, retryable: true, title: 'The ledger is not available' },
  model_timeout: { status: 504, retryable: true, title: 'The model webhook did not answer in time' },
  deadline_exceeded: { status: 504, retryable: true, title: 'The deadline of the request has passed' },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/**
 * An expected refusal that ends a request with an HTTP error. `detail` is for the caller: it names the field
 * and the fix and never holds a value of the caller's data. `cause` is for the log only.
 */
export interface Problem {
  readonly kind: 'problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly retryAfterSeconds?: number;
  /** Further public members, such as the meter of a spent quota. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /** A run was counted all the same. Not shown. */
  readonly counted?: true;
}

/** Makes a Problem; `more` adds the optional members. */
export function problem(
  code: ProblemCode,
  detail: string,
  more: Pick<Problem, 'retryAfterSeconds' | 'extra' | 'cause' | 'counted'> = {},
): Problem {
  return { kind: 'problem', code, detail, ...more };
}

/** Whether an outcome is a Problem. */
export function isProblem(outcome: object | null): outcome is Problem {
  return outcome !== null && 'kind' in outcome && outcome.kind === 'problem';
}

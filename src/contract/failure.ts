/**
 * Why a step that got as far as a Computation has no result. Closed set; a retired code is never reused.
 * `counts`: whether the run is metered. `retryable`: whether the same request may do better later.
 */
export const FAILURES = {
  code_not_admitted: {
    counts: false,
    retryable: true,
    message: 'The function was refused by admission; nothing ran.',
  },
  exception: { counts: true, retryable: false, message: 'The function raised an exception.' },
  timeout: {
    counts: true,
    retryable: false,
    message: 'The function ran past its time limit and was killed.',
  },
  out_of_memory: {
    counts: true,
    retryable: false,
    message: 'The function went past its memory limit and was killed.',
  },
  output_too_large: {
    counts: true,
    retryable: false,
    message: 'The result is larger than RESULT_MAX_BYTES.',
  },
  result_not_json: { counts: true, retryable: false, message: 'The result cannot be written as JSON.' },
  result_type_mismatch: {
    counts: true,
    retryable: false,
    message: 'The result is not of the type or schema that was asked for.',
  },
  result_schema_timeout: {
    counts: true,
    retryable: false,
    message: 'Checking the result against result_schema took too long.',
  },
  sandbox_crashed: {
    counts: true,
    retryable: false,
    message: 'The sandbox process ended without a valid answer.',
  },
  sandbox_lost: { counts: true, retryable: true, message: 'The engine went away while the function ran.' },
  cancelled: {
    counts: true,
    retryable: true,
    message: 'The function was killed because the caller hung up or the service stopped; the run counts.',
  },
  sandbox_unavailable: { counts: false, retryable: true, message: 'The sandbox could not be started.' },
} as const satisfies Record<string, { counts: boolean; retryable: boolean; message: string }>;

export type FailureCode = keyof typeof FAILURES;
export const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[];

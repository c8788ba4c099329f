import { type Problem, type ProblemCode, problem } from '../contract/problem.ts';

/**
 * Why a model gave no function: the `reason` member of a `model_failed` or `model_timeout` problem. Closed set;
 * a retired reason is never reused. The text is for the caller and holds nothing of the webhook's answer.
 */
export const MODEL_FAILURE_REASONS = {
  connect_failed: 'no connection to the webhook could be made',
  connection_lost: 'the webhook closed the connection before its answer was complete',
  http_status: 'the webhook answered with an error status',
  redirect: 'the webhook answered with a redirect; give the final URL, redirects are not followed',
  content_encoding: 'the webhook compressed its answer; it must answer with identity encoding',
  answer_too_large: 'the answer of the webhook is too large',
  answer_not_utf8: 'the answer of the webhook is not UTF-8',
  answer_not_json: 'the answer of the webhook is not JSON',
  answer_not_understood: 'the answer of the webhook does not have the shape of its format',
  empty_answer: 'the model answered with no text',
  no_function: 'there is no Python function in the answer of the model',
  refused: 'the model refused to answer',
  content_filter: 'a content filter stopped the answer of the model',
  length: 'the answer of the model was cut at its token limit; raise or remove the limit',
  tool_calls: 'the model called a tool instead of answering; send no tools',
  circuit_open: 'this webhook failed many times in a row and is left alone for a while',
  timeout: 'the webhook did not answer in time',
  cancelled: 'the request ended before the webhook had answered',
} as const satisfies Record<string, string>;

export type ModelFailureReason = keyof typeof MODEL_FAILURE_REASONS;

/** What else is known of a failed request: the status for the caller, a code for the log. */
export interface FailureFacts {
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  /** A code of ours, Node's or undici's; never text that the webhook sent. */
  readonly cause?: string;
  readonly hint?: string;
}

/**
 * The problem for a reason: `model_timeout` for `timeout` and `cancelled`, else `model_failed`. Public members:
 * `reason` and, where the webhook answered, `webhook_status`; its body and headers never. The log's `cause` says the
 * same in one line, as whoever operates the service sees no answers.
 */
export function modelProblem(reason: ModelFailureReason, facts: FailureFacts = {}): Problem {
  const code: ProblemCode = reason === 'timeout' || reason === 'cancelled' ? 'model_timeout' : 'model_failed';
  const detail = MODEL_FAILURE_REASONS[reason];
  const status = facts.status === undefined ? '' : ` (status ${facts.status})`;
  const hint = facts.hint === undefined ? '' : ` ${facts.hint}`;
  return problem(code, `${detail.charAt(0).toUpperCase()}${detail.slice(1)}${status}.${hint}`, {
    extra: { reason, ...(facts.status === undefined ? {} : { webhook_status: facts.status }) },
    ...(facts.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: facts.retryAfterSeconds }),
    cause: [reason, facts.status, facts.cause].filter((known) => known !== undefined).join(' '),
  });
}

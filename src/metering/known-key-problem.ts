import { type Problem, problem } from '../contract/problem.ts';
import type { RunOutcome } from './permit.ts';

const IN_FLIGHT_RETRY_SECONDS = 1;

/** The 409 of a key that has led to a run: settled with this outcome, or (null) not settled yet. */
export function knownKeyProblem(runId: string, outcome: RunOutcome | null): Problem {
  return outcome === null
    ? problem('idempotency_in_flight', 'The first request with this Idempotency-Key is still running.', {
        retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
        extra: { run_id: runId },
      })
    : problem(
        'idempotency_answer_lost',
        'The request with this Idempotency-Key was run and counted, and its answer is no longer held. ' +
          'Send a new key to run it again.',
        { extra: { run_id: runId, outcome } },
      );
}

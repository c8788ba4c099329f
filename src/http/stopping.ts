import { type Problem, problem } from '../contract/problem.ts';

/** Long enough for a replica to be taken out of turn or a process to start. */
const RETRY_AFTER_SECONDS = 5;

/** What a request gets that comes while the service stops. */
export const STOPPING: Problem = problem(
  'overloaded',
  'The service is stopping and takes nothing new; send this again, where there is another replica to that.',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
);

/**
 * What a request gets that the service's stopping ended, in place of `deadline_exceeded`: nothing was run or counted.
 * What the model wrote for it is kept. A run that was killed counts, and says so itself (failure `cancelled`).
 */
export function stoppedProblem({ extra, cause }: Problem): Problem {
  return problem('overloaded', 'The service stopped before anything was run or counted; send this again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    ...(extra === undefined ? {} : { extra }),
    cause,
  });
}

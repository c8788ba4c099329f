import type { FastifyReply, FastifyRequest } from 'fastify';
import { isProblem, type Problem } from '../../contract/problem.ts';
import type { StepAnswer } from '../../step/answer.ts';
import type { RouteDeps } from '../deps.ts';
import { encodeComputation } from '../encode.ts';
import { problemAnswer } from '../errors.ts';
import { underDeadline } from '../hang-up.ts';
import { type OnceAnswer, once } from '../once.ts';
import type { Call, ReadStep, StepReader } from '../steps.ts';

type ReadStepFrom = (deps: StepReader, call: Call, signal: AbortSignal) => Promise<ReadStep | Problem>;

/** Reads a step out of the body, takes it, and answers its Computation; one deadline over all of it. */
export function stepHandler(deps: RouteDeps, readStep: ReadStepFrom) {
  return (http: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    underDeadline(reply, deps, (deadline) =>
      once(deps, http, reply, async (idempotency) => {
        const call = { id: http.id, tenant: deps.calls.tenantOf(http), http, idempotency };
        const read = await readStep(deps.stepReader, call, deadline.signal);
        if (isProblem(read)) {
          return answerOf(read);
        }
        deadline.shorten(read.timeoutMs);
        return answerOf(await deps.step(read.request, deadline.signal));
      }),
    );
}

function answerOf(end: StepAnswer | Problem): OnceAnswer {
  if (isProblem(end)) {
    return { answer: problemAnswer(end), keep: end.counted === true };
  }
  return {
    answer: {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: encodeComputation(end),
    },
    keep: end.computation.metered.compute_runs > 0,
  };
}

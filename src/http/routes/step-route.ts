import type { FastifyReply, FastifyRequest } from 'fastify';
import { isProblem, type Problem, problem } from '../../contract/problem.ts';
import type { RouteDeps } from '../deps.ts';
import { encodeComputation } from '../encode.ts';
import { sendProblem } from '../errors.ts';
import { underDeadline } from '../hang-up.ts';
import type { Call, ReadStep, StepReader } from '../steps.ts';

type ReadStepFrom = (deps: StepReader, call: Call, signal: AbortSignal) => Promise<ReadStep | Problem>;

/** Reads a step out of the body, takes it, and answers its Computation; one deadline over all of it. */
export function stepHandler(deps: RouteDeps, readStep: ReadStepFrom) {
  return (http: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    underDeadline(reply, deps, async (deadline) => {
      if (http.headers['idempotency-key'] !== undefined) {
        return sendProblem(reply, NO_IDEMPOTENCY);
      }
      const call = { id: http.id, tenant: deps.calls.tenantOf(http), http };
      const read = await readStep(deps.stepReader, call, deadline.signal);
      if (isProblem(read)) {
        return sendProblem(reply, read);
      }
      deadline.shorten(read.timeoutMs);
      const end = await deps.step(read.request, deadline.signal);
      return isProblem(end)
        ? sendProblem(reply, end)
        : reply.header('content-type', 'application/json; charset=utf-8').send(encodeComputation(end));
    });
}

// A key that is taken and not kept would be a promise broken: a retry would run and count twice.
const NO_IDEMPOTENCY = problem(
  'invalid_request',
  'The header Idempotency-Key is not available in this version; leave it out.',
);

import type { FastifyReply, FastifyRequest } from 'fastify';
import { isProblem, type Problem } from '../../contract/problem.ts';
import { validTraceparent } from '../../contract/traceparent.ts';
import type { StepAnswer } from '../../step/answer.ts';
import type { DraftAnswer } from '../../step/draft.ts';
import type { StepRequest } from '../../step/request.ts';
import { combineWatches, type StepWatch } from '../../step/watch.ts';
import { answerForm } from '../accept.ts';
import type { RouteDeps } from '../deps.ts';
import { encodeComputation } from '../encode.ts';
import { problemAnswer, thrownProblem, withId } from '../errors.ts';
import { underDeadline } from '../hang-up.ts';
import { type OnceAnswer, once } from '../once.ts';
import { createProgress, type Progress } from '../progress.ts';
import { rateLimitHeaders } from '../rate-limit.ts';
import type { Call, ReadStep, StepReader } from '../steps.ts';

type ReadStepFrom = (deps: StepReader, call: Call, signal: AbortSignal) => Promise<ReadStep | Problem>;

/** What is done with a step once it is read. */
type Take = (
  request: StepRequest,
  signal: AbortSignal,
  watch?: StepWatch,
) => Promise<StepAnswer | DraftAnswer | Problem>;

/**
 * Reads a step out of the body, takes it, and answers what it came to; one deadline over all of it. `events`: whether
 * the answer may be a stream of them.
 */
export function stepHandler(
  deps: RouteDeps,
  readStep: ReadStepFrom,
  take: Take,
  { events = false }: { readonly events?: boolean } = {},
) {
  return (http: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const span = deps.spans.of(http);
    const asked = events && answerForm(http.headers.accept) === 'event-stream';
    const progress = asked ? createProgress(reply, http.id, deps.clock, deps.events) : null;
    const answered = underDeadline(reply, deps, (deadline) => {
      const work = async (idempotency: StepRequest['idempotency']): Promise<OnceAnswer> => {
        const call = {
          id: http.id,
          tenant: deps.calls.tenantOf(http),
          http,
          traceparent: span?.traceparent ?? validTraceparent(http.headers.traceparent),
          idempotency,
        };
        const read = await readStep(deps.stepReader, call, deadline.signal);
        if (isProblem(read)) {
          return answerOf(deadline.told(read));
        }
        deadline.shorten(read.timeoutMs);
        const watches = [progress?.watch(), span?.watch()].filter((watch) => watch !== undefined);
        const end = await take(read.request, deadline.signal, combineWatches(...watches));
        // Beside the answer, not in it: an answer that is kept for its key would tell an old quota.
        reply.headers(rateLimitHeaders(end, deps.clock.now()));
        const told = deadline.told(end);
        return answerOf(isProblem(told) ? withId(told, http.id) : told);
      };
      return once(deps, http, reply, work, progress?.answer);
    });
    return progress === null ? answered : answered.catch((error) => failed(deps, http, progress, error));
  };
}

/** What is thrown is told as `answerErrors` tells it, but in an event once the head of the answer is out. */
function failed(deps: RouteDeps, http: FastifyRequest, progress: Progress, error: unknown): FastifyReply {
  return progress.answer(problemAnswer(thrownProblem(error, http.id, deps)));
}

function answerOf(end: StepAnswer | DraftAnswer | Problem): OnceAnswer {
  switch (end.kind) {
    case 'problem':
      return { answer: problemAnswer(end), keep: end.counted === true };
    case 'draft':
      // It counted nothing, but its model was paid: the key must not lead to a second call.
      return { answer: ok(JSON.stringify(end.draft)), keep: true };
    case 'answer':
      return { answer: ok(encodeComputation(end)), keep: end.computation.metered.compute_runs > 0 };
  }
}

function ok(body: string): OnceAnswer['answer'] {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
}

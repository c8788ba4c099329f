import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../deps.ts';
import { IDEMPOTENCY_HEADER, problemsOf } from '../openapi.ts';
import { readComputeStep } from '../steps.ts';
import { stepHandler } from './step-route.ts';

const computationOrEvents = {
  description: 'A Computation; or, for `accept: text/event-stream`, the events of its step.',
  content: {
    'application/json': { schema: Type.Ref('Computation') },
    'text/event-stream': {
      schema: Type.String({
        description:
          'Server-sent events: `prompt`, `model`, `admission`, `queue`, `running`, each with `id` and `elapsed_ms`, and `attempt`, `admitted`, `rule_id`, `line` where there are any; then `computation` with the Computation, or `problem` with the Problem. What is refused before the step begins is an ordinary HTTP problem.',
      }),
    },
  },
};

/** `POST /v1/compute`: one compute step, from the instruction to the checked result. */
export function computeRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post(
    '/compute',
    {
      schema: {
        operationId: 'compute',
        summary: 'Take one compute step',
        description:
          'Shows the model webhook the schema of the sources, admits the function it writes (a refused one goes back to the model, see `repair`), runs it over the values in one container and checks the result. Answers 200 with a Computation whatever its state. Answers that know the quota carry RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), a policy a meter, in the units requests and compute-seconds.',
        headers: IDEMPOTENCY_HEADER,
        body: Type.Ref('ComputeRequest'),
        response: { 200: computationOrEvents, ...problemsOf('step') },
      },
    },
    stepHandler(deps, readComputeStep, deps.step, { events: true }),
  );
}

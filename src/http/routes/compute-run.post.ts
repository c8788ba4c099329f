import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../deps.ts';
import { IDEMPOTENCY_HEADER, problemsOf } from '../openapi.ts';
import { readRunStep } from '../steps.ts';
import { stepHandler } from './step-route.ts';

/** `POST /v1/compute/run`: admission and run of a function the caller has. */
export function runRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post(
    '/compute/run',
    {
      schema: {
        operationId: 'run',
        summary: 'Run a function you have',
        description:
          'For a function that your own model wrote, an approved draft, or a replay on new data. Asks no model; counts like any run. Answers that know the quota carry RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), a policy a meter, in the units requests and compute-seconds.',
        headers: IDEMPOTENCY_HEADER,
        body: Type.Ref('RunRequest'),
        response: { 200: Type.Ref('Computation'), ...problemsOf('run') },
      },
    },
    stepHandler(deps, readRunStep, deps.step),
  );
}

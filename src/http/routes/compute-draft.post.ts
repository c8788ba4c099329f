import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../deps.ts';
import { IDEMPOTENCY_HEADER, problemsOf } from '../openapi.ts';
import { readComputeStep } from '../steps.ts';
import { stepHandler } from './step-route.ts';

/** `POST /v1/compute/draft`: the function and its verdict, for approval before a run. Takes the body of `/compute`. */
export function draftRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post(
    '/compute/draft',
    {
      schema: {
        operationId: 'draft',
        summary: 'Have a function written, run nothing',
        description:
          'Prompt, model, repair and admission as for /v1/compute, and no run. Looks at the quota first, counts nothing and holds nothing open. Approve the function and send it to /v1/compute/run with its code_sha256 as expect_code_sha256. What only a run needs (limits, include) is checked and has no effect.',
        headers: IDEMPOTENCY_HEADER,
        body: Type.Ref('ComputeRequest'),
        response: { 200: Type.Ref('Draft'), ...problemsOf('draft') },
      },
    },
    stepHandler(deps, readComputeStep, deps.draft),
  );
}

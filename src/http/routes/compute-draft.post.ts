import type { FastifyInstance } from 'fastify';
import { problem } from '../../contract/problem.ts';
import { sendProblem } from '../errors.ts';

/** `POST /v1/compute/draft`: named, and refused by name, until drafts are available. */
export function draftRoute(app: FastifyInstance): void {
  const refusal = problem(
    'invalid_request',
    'Drafts are not available in this version; use /v1/compute/prompt, your own model and /v1/compute/run.',
  );
  app.post('/compute/draft', { schema: { hide: true } }, (_http, reply) => sendProblem(reply, refusal));
}

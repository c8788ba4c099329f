import type { FastifyInstance } from 'fastify';
import { problem } from '../contract/problem.ts';
import { ProblemError } from './errors.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

/**
 * At most `max` requests on a connection before their answers; the next one is refused and ends it. Whoever asks,
 * and whatever for: each answer waits in memory for its turn, and node takes a thousand requests from one read.
 */
export function boundPipelining(app: FastifyInstance, unsent: UnsentAnswers, max: number): void {
  app.addHook('onRequest', async (_http, reply) => {
    if (unsent.ahead(reply.raw) >= max) {
      reply.header('connection', 'close');
      throw new ProblemError(
        problem('overloaded', `Send at most ${max} requests before their answers on a connection.`, {
          retryAfterSeconds: 1,
        }),
      );
    }
  });
}

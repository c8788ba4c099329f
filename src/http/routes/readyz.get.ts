import type { FastifyInstance } from 'fastify';
import { ReadinessSchema } from '../../contract/answer.ts';
import type { Ready } from '../../ready.ts';
import type { Drain } from '../drain.ts';

/** `GET /readyz`: 200 only if every check is fine, else 503 that names which is not, without further detail. */
export function readyRoute(app: FastifyInstance, ready: Ready, drain: Drain): void {
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'ready',
        summary: 'Ready for steps',
        description:
          'At most two seconds old. `stopping`: the service ends what is in work, and takes nothing new under /v1.',
        security: [],
        response: { 200: ReadinessSchema, 503: ReadinessSchema },
      },
    },
    async (_http, reply) => {
      if (drain.begun) {
        return reply.code(503).header('retry-after', '5').send({ status: 'stopping', failing: [] });
      }
      const failing = (await ready()).filter((state) => !state.ok).map((state) => state.check);
      return failing.length === 0
        ? reply.send({ status: 'ready', failing })
        : reply.code(503).header('retry-after', '5').send({ status: 'unavailable', failing });
    },
  );
}

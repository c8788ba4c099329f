import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { READINESS_CHECKS } from '../../contract/readiness.ts';
import type { Ready } from '../../ready.ts';

/** `GET /readyz`: 200 only if every check is fine, else 503 that names which is not, without further detail. */
export function readyRoute(app: FastifyInstance, ready: Ready): void {
  const body = Type.Object(
    {
      status: Type.Union([Type.Literal('ready'), Type.Literal('unavailable')]),
      failing: Type.Array(Type.Union(READINESS_CHECKS.map((name) => Type.Literal(name)))),
    },
    { additionalProperties: false },
  );
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'ready',
        summary: 'Ready for steps',
        description: 'At most two seconds old.',
        security: [],
        response: { 200: body, 503: body },
      },
    },
    async (_http, reply) => {
      const failing = (await ready()).filter((state) => !state.ok).map((state) => state.check);
      return failing.length === 0
        ? reply.send({ status: 'ready', failing })
        : reply.code(503).header('retry-after', '5').send({ status: 'unavailable', failing });
    },
  );
}

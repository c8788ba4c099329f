import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';

/** `GET /healthz`: the process is alive. Never touches engine, ledger or network. */
export function healthRoute(app: FastifyInstance): void {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'health',
        summary: 'Alive',
        security: [],
        response: { 200: Type.Object({ status: Type.Literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' }),
  );
}

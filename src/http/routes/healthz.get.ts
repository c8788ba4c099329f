import type { FastifyInstance } from 'fastify';
import { HealthSchema } from '../../contract/answer.ts';

/** `GET /healthz`: the process is alive. Never touches engine, ledger or network. */
export function healthRoute(app: FastifyInstance): void {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'health',
        summary: 'Alive',
        security: [],
        response: { 200: HealthSchema },
      },
    },
    async () => ({ status: 'ok' }),
  );
}

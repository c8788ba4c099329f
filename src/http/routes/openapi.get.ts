import apiReference from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';

/** `GET /openapi.json`, `/openapi.yaml` and the readable page at `/docs`. */
export async function descriptionRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async (_http, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(app.swagger())),
  );
  app.get('/openapi.yaml', { schema: { hide: true } }, async (_http, reply) =>
    reply.header('content-type', 'application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
  );
  await app.register(apiReference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
  });
}

import Fastify, { type FastifyInstance } from 'fastify';

/** What `/metrics` shows. `refresh` brings the gauges up to date before each scrape. */
export interface MetricsDeps {
  readonly contentType: string;
  text(): Promise<string>;
  refresh(): Promise<void>;
}

/** `GET /metrics` on a listener of its own, so that it can stay private while the API is not. */
export function buildMetricsApp(deps: MetricsDeps): FastifyInstance {
  const app = Fastify({ logger: false, bodyLimit: 1024, requestTimeout: 10_000 });
  app.get('/metrics', async (_http, reply) => {
    await deps.refresh();
    return reply.header('content-type', deps.contentType).send(await deps.text());
  });
  return app;
}

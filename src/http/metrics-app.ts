import Fastify, { type FastifyInstance } from 'fastify';
import { boundConnections } from './connections.ts';
import { HTTP_LIMITS } from './limits.ts';
import { limitListener, listenerOptions } from './listener.ts';

/** A scraper has one or two connections; past it the one that was unused for longest is closed. */
const MAX_CONNECTIONS = 64;

/** What `/metrics` shows. `refresh` brings the gauges up to date before each scrape. */
export interface MetricsDeps {
  readonly contentType: string;
  text(): Promise<string>;
  refresh(): Promise<void>;
}

/** `GET /metrics` on a listener of its own, so that it can stay private while the API is not. */
export function buildMetricsApp(deps: MetricsDeps): FastifyInstance {
  const limits = { ...HTTP_LIMITS, connections: MAX_CONNECTIONS, requestMs: 10_000, headersMs: 10_000 };
  const app = Fastify({ logger: false, bodyLimit: 1024, ...listenerOptions(limits) });
  limitListener(app, limits);
  boundConnections(app.server, limits.connections);
  app.get('/metrics', async (_http, reply) => {
    await deps.refresh();
    return reply.header('content-type', deps.contentType).send(await deps.text());
  });
  return app;
}

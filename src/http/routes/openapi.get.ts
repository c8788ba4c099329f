import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

const HIDDEN = { schema: { hide: true } };
/** What the page's own answers may say of themselves here. */
const PAGE_HEADERS = ['content-type', 'location'] as const;

/** `GET /openapi.json`, `/openapi.yaml` and the readable page at `/docs`. */
export async function descriptionRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', HIDDEN, async (_http, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(app.swagger())),
  );
  app.get('/openapi.yaml', HIDDEN, async (_http, reply) =>
    reply.header('content-type', 'application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
  );
  let pages: Promise<FastifyInstance> | null = null;
  const show = async (http: FastifyRequest, reply: FastifyReply) => {
    pages ??= readablePages();
    const page = await (await pages).inject({ url: http.url });
    if (page.statusCode === 404) {
      return reply.callNotFound();
    }
    for (const name of PAGE_HEADERS) {
      const value = page.headers[name];
      if (value !== undefined) reply.header(name, value);
    }
    return reply.code(page.statusCode).send(page.rawPayload);
  };
  app.get('/docs', HIDDEN, show);
  app.get('/docs/*', HIDDEN, show);
}

/** Made when somebody looks: the page's script alone would hold 7 MB of memory in every service that nobody reads. */
async function readablePages(): Promise<FastifyInstance> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference');
  const pages = Fastify({ logger: false });
  await pages.register(apiReference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
  });
  return pages;
}

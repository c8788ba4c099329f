import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';

const HIDDEN = { schema: { hide: true } };
const PAGES = ['/docs', '/docs/', '/docs/js/scalar.js'] as const;
/** What the page's own answers may say of themselves here. */
const PAGE_HEADERS = ['content-type', 'location'] as const;

interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * `GET /openapi.json`, `/openapi.yaml` and the readable page at `/docs`. Nobody needs a key for them, so each is made
 * once and its bytes are shared: made for each request, the page's script took 13 MB that a slow reader held.
 */
export async function descriptionRoutes(app: FastifyInstance): Promise<void> {
  const json = madeOnce(() => Buffer.from(JSON.stringify(app.swagger())));
  const yaml = madeOnce(() => Buffer.from(app.swagger({ yaml: true })));
  app.get('/openapi.json', HIDDEN, async (_http, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(json()),
  );
  app.get('/openapi.yaml', HIDDEN, async (_http, reply) =>
    reply.header('content-type', 'application/yaml; charset=utf-8').send(yaml()),
  );
  const pages = madeOnce(readablePages);
  const show = async (reply: FastifyReply, path: string) => {
    const page = (await pages()).get(path);
    return page === undefined
      ? reply.callNotFound()
      : reply.code(page.status).headers(page.headers).send(page.body);
  };
  app.get('/docs', HIDDEN, (_http, reply) => show(reply, '/docs'));
  app.get<{ Params: { '*': string } }>('/docs/*', HIDDEN, (http, reply) =>
    show(reply, `/docs/${http.params['*']}`),
  );
}

function madeOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Made when somebody looks: the page's script alone would hold 4 MB of memory in every service that nobody reads. */
async function readablePages(): Promise<ReadonlyMap<string, Page>> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference');
  const app = Fastify({ logger: false });
  await app.register(apiReference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false },
  });
  const pages = new Map<string, Page>();
  for (const url of PAGES) {
    const { statusCode: status, headers, rawPayload: body } = await app.inject({ url });
    const kept = PAGE_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
    pages.set(url, { status, headers: Object.fromEntries(kept), body });
  }
  await app.close();
  return pages;
}

import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { v7 } from 'uuid';
import { elapsedMs } from '../clock.ts';
import { faultChecker } from '../contract/faults.ts';
import { problem } from '../contract/problem.ts';
import { createCalls } from './call.ts';
import type { AppDeps } from './deps.ts';
import { answerUnparsed, ProblemError, problemOf, sendProblem } from './errors.ts';
import { byteBudget, tenantSlots } from './inflight.ts';
import { acceptsJson, routeTable } from './negotiate.ts';
import { NAMED_SCHEMAS, openApiHead } from './openapi.ts';
import { invalid } from './read-body.ts';
import { capabilitiesRoute } from './routes/capabilities.get.ts';
import { computeRoute } from './routes/compute.post.ts';
import { admitRoute } from './routes/compute-admit.post.ts';
import { draftRoute } from './routes/compute-draft.post.ts';
import { promptRoute } from './routes/compute-prompt.post.ts';
import { runRoute } from './routes/compute-run.post.ts';
import { healthRoute } from './routes/healthz.get.ts';
import { descriptionRoutes } from './routes/openapi.get.ts';
import { pageRoutes } from './routes/page.get.ts';
import { packRoute } from './routes/prompt-pack.get.ts';
import { readyRoute } from './routes/readyz.get.ts';
import { usageRoutes } from './routes/usage.get.ts';

/** How long a client may take for its head and its whole request; a slower one is cut off. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 120_000;

/** Builds the API without listening. Everything it needs comes in `deps`. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    bodyLimit: deps.bodyMaxBytes,
    genReqId: () => v7(),
    requestIdHeader: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 64 },
    return503OnClosing: false,
    clientErrorHandler: answerUnparsed,
    frameworkErrors: (error, _http, reply) => sendProblem(reply, problemOf(error, deps.bodyMaxBytes)),
  });
  const routes = routeTable();
  app.addHook('onRoute', (route) => routes.add(route.url, [route.method].flat()));
  takeBodiesAsBytes(app);
  checkParametersOnly(app);
  answerErrors(app, deps, routes.methodsOf);
  observe(app, deps);

  for (const schema of NAMED_SCHEMAS) {
    app.addSchema(schema);
  }
  await app.register(swagger, {
    openapi: openApiHead(deps.version),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `def-${i}`) },
  });
  healthRoute(app);
  readyRoute(app, deps.ready);
  await app.register(async (v1) => versionOne(v1, deps), { prefix: '/v1' });
  await descriptionRoutes(app);
  if (deps.ui) {
    await pageRoutes(app);
  }
  return app;
}

async function versionOne(v1: FastifyInstance, deps: AppDeps): Promise<void> {
  const calls = createCalls(
    deps.tenants,
    tenantSlots(),
    byteBudget(deps.bodyInflightMaxBytes),
    deps.bodyMaxBytes,
  );
  v1.addHook('onRequest', async (http, reply) => {
    await calls.authorize(http);
    if (!acceptsJson(http.headers.accept)) {
      throw new ProblemError(problem('not_acceptable', 'Accept application/json.'));
    }
    if (http.method === 'POST') {
      await calls.admit(http, reply);
    }
  });
  const route = { ...deps, calls };
  computeRoute(v1, route);
  promptRoute(v1, route);
  draftRoute(v1, route);
  admitRoute(v1, route);
  runRoute(v1, route);
  usageRoutes(v1, route);
  capabilitiesRoute(v1, route);
  packRoute(v1, route);
}

/** Bodies stay bytes: the framework's parser would make objects of the sources and change their numbers. */
function takeBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_http, body, done) =>
    done(null, body),
  );
}

/** Query and path are checked here; bodies by the routes, after the scan. Nothing is coerced or stripped. */
function checkParametersOnly(app: FastifyInstance): void {
  app.setValidatorCompiler<never>(({ schema, httpPart }) => {
    if (httpPart === 'body') {
      return () => true;
    }
    const check = faultChecker(schema);
    return (value) => {
      const faults = check(value);
      return faults.length === 0 || { error: new ProblemError(invalid(faults)) };
    };
  });
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
}

function answerErrors(
  app: FastifyInstance,
  deps: AppDeps,
  methodsOf: (path: string) => readonly string[],
): void {
  app.setErrorHandler((error, http, reply) => {
    const what = problemOf(error, deps.bodyMaxBytes);
    if (what.code === 'internal_error') {
      deps.observer.unexpected('http', error, http.id);
    }
    if (!http.raw.complete) {
      // Answered before its body was there: a connection that goes on sending it would be held for nothing.
      reply.header('connection', 'close');
    }
    return sendProblem(reply, what.code === 'internal_error' ? { ...what, extra: { id: http.id } } : what);
  });
  app.setNotFoundHandler((http, reply) => {
    const methods = methodsOf(http.url.split('?', 1)[0] ?? '');
    if (methods.length === 0) {
      return sendProblem(reply, problem('not_found', 'See /openapi.json for the paths of this service.'));
    }
    reply.header('allow', methods.join(', '));
    return sendProblem(reply, problem('method_not_allowed', `Use ${methods.join(' or ')} here.`));
  });
}

function observe(app: FastifyInstance, deps: AppDeps): void {
  const started = new WeakMap<object, bigint>();
  app.addHook('onRequest', async (http, reply) => {
    started.set(http, deps.clock.monotonicNs());
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (http, reply) => {
    const seconds = elapsedMs(deps.clock, started.get(http) ?? deps.clock.monotonicNs()) / 1000;
    deps.observer.httpRequest(http.routeOptions.url ?? 'none', http.method, reply.statusCode, seconds);
  });
}
